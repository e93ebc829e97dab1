package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// data are real payloads, out of order, some of them twice.
const data = "../../../shared/data/github-webhooks.ndjson"

func TestDemo(t *testing.T) {
	for _, mode := range []string{"sync", "async"} {
		for _, chaos := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chaos %v", mode, chaos), func(t *testing.T) {
				var out bytes.Buffer
				if err := run(t.Context(), options{count: 200, mode: mode, chaos: chaos}, &out); err != nil {
					t.Fatalf("%v\n%s", err, &out)
				}
				for _, part := range []string{"in   ", "out  ", "your function  200 messages of 3 queues", "process        200 messages of 3 queues", "order violations    0", "lost                0", "unchanged"} {
					if !strings.Contains(out.String(), part) {
						t.Errorf("no %q in\n%s", part, &out)
					}
				}
			})
		}
	}
}

func TestDemoOfRealPayloads(t *testing.T) {
	if _, err := os.Stat(data); err != nil {
		t.Logf("not here: %v", err)
		return
	}
	var out bytes.Buffer
	if err := run(t.Context(), options{input: data, mode: "sync"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, part := range []string{"286 messages", "duplicates          13", "your function  273 messages of 18 queues", "process        273 messages of 18 queues"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
}

// TestWatcherSeesWhatIsWrong: a check that never fails checks nothing.
func TestWatcherSeesWhatIsWrong(t *testing.T) {
	var arrivals []arrival
	for seq := 1; seq <= 3; seq++ {
		a, err := newArrival(fmt.Appendf(nil, `{"queue":"q","seq":%d,"body":%d}`, seq, seq))
		if err != nil {
			t.Fatal(err)
		}
		arrivals = append(arrivals, a)
	}
	token := 0
	line := func(from, to int, seqs ...int) string {
		token++
		var messages []string
		for _, seq := range seqs {
			messages = append(messages, fmt.Sprintf(`{"seq":%d,"sha256":%q}`, seq, arrivals[seq-1].sum))
		}
		return fmt.Sprintf(`{"message":"batch","queue":"q","token":%d,"from":%d,"to":%d,"messages":[%s]}`, token, from, to, strings.Join(messages, ","))
	}
	for name, c := range map[string]struct {
		lines      []string
		violations int
		repeated   int
		messages   int
	}{
		"right":             {[]string{line(0, 1, 1), line(1, 3, 2, 3)}, 0, 0, 3},
		"again":             {[]string{line(0, 1, 1), line(0, 1, 1), line(1, 3, 2, 3)}, 0, 1, 3},
		"again, same token": {slices.Repeat([]string{line(0, 1, 1)}, 2), 1, 0, 1},
		"half a line":       {[]string{line(0, 1, 1)[:30], line(0, 3, 1, 2, 3)}, 0, 0, 3},
		"a batch lost":      {[]string{line(1, 3, 2, 3)}, 1, 0, 2},
		"swapped":           {[]string{line(0, 3, 1, 3, 2)}, 2, 0, 3},
		"one lost":          {[]string{line(0, 3, 1, 3)}, 1, 0, 2},
		"one too short":     {[]string{line(0, 3, 1, 2)}, 1, 0, 2},
		"other bytes":       {[]string{strings.Replace(line(0, 1, 1), arrivals[0].sum, "00", 1)}, 1, 0, 1},
	} {
		w := newWatcher(&bytes.Buffer{}, 0, arrivals)
		for _, l := range c.lines {
			w.line(l)
		}
		s := w.state()
		if min(len(s.violations), c.violations) != c.violations || c.violations == 0 && len(s.violations) > 0 || s.repeated != c.repeated || s.messages != c.messages {
			t.Errorf("%s: %+v, want %d violations, %d repeated, %d messages", name, s, c.violations, c.repeated, c.messages)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Setenv("MODE", "both")
	if _, err := fromEnvironment(); err == nil || !strings.Contains(err.Error(), "MODE") {
		t.Errorf("error %v", err)
	}
}
