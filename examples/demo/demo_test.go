package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/jsonseq"
)

// data are real payloads, out of order, some of them twice.
const data = "../../../shared/data/github-webhooks.ndjson"

// some is the first of several under -short, else all.
func some(all ...options) []options {
	if testing.Short() {
		return all[:1]
	}
	return all
}

func TestDemo(t *testing.T) {
	for _, o := range some(options{mode: "async"}, options{mode: "async", chaos: true}, options{mode: "sync"}, options{mode: "sync", chaos: true}) {
		t.Run(fmt.Sprintf("%s, chaos %v", o.mode, o.chaos), func(t *testing.T) {
			o.count = 200
			var out bytes.Buffer
			if err := run(t.Context(), o, &out); err != nil {
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

// TestDemoWithAGap: what is before the gap comes out, what is behind it waits, and the
// demo ends and says for which seq.
func TestDemoWithAGap(t *testing.T) {
	input := filepath.Join(t.TempDir(), "input.ndjson")
	var text strings.Builder
	for _, seq := range []int{4, 2, 1, 5} {
		fmt.Fprintf(&text, `{"queue":"q","seq":%d,"body":{}}`+"\n", seq)
	}
	text.WriteString(`{"queue":"whole","seq":1,"bodyBase64":"aGk="}` + "\n")
	if err := os.WriteFile(input, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), options{input: input, mode: "sync"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, part := range []string{
		"sending 5 messages to 2 queues", "your function  3 messages of 2 queues", "process        3 messages of 2 queues",
		"queue q: seq 3 is missing; messages behind it that wait: 2", "everything before a gap came out once",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
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

// TestTrackedDemo: what is committed is done, also where processes are killed in
// the middle of a tree.
func TestTrackedDemo(t *testing.T) {
	for _, o := range some(options{count: 100}, options{count: 200, chaos: true}, options{input: data, chaos: true}) {
		if _, err := os.Stat(data); o.input != "" && err != nil {
			t.Logf("not here: %v", err)
			continue
		}
		o.mode, o.tracked = "sync", true
		var out bytes.Buffer
		if err := run(t.Context(), o, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		for _, part := range []string{"0 before their tree was done", "order violations    0", "lost                0", "unchanged"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("no %q in\n%s", part, &out)
			}
		}
	}
}

// TestTreesSeeWhatIsEarly: what is committed and has no line of its work is
// found.
func TestTreesSeeWhatIsEarly(t *testing.T) {
	w := &trees{done: map[string]map[int64]bool{"q": {}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.line(`{"message":"work","queue":"q","seq":1}`)
	w.line(`{"message":"other","queue":"q","seq":2}`)
	w.line(`no JSON`)
	if !w.isDone(ctx, "q", 1) || w.isDone(ctx, "q", 2) {
		t.Errorf("done: %v", w.done)
	}
}

func TestDemoInArrivalOrder(t *testing.T) {
	for _, o := range some(options{count: 200}, options{count: 200, chaos: true}, options{input: data}) {
		if _, err := os.Stat(data); o.input != "" && err != nil {
			t.Logf("not here: %v", err)
			continue
		}
		o.mode, o.arrival = "sync", true
		var out bytes.Buffer
		if err := run(t.Context(), o, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		parts := []string{"without their numbers", "numbers given, 0 of them wrong", "order violations    0", "lost                0"}
		if o.input != "" {
			parts = append(parts, "273 advanced, 13 duplicate", "your function  273 messages of 18 queues", "in the order of acceptance")
		}
		for _, part := range parts {
			if !strings.Contains(out.String(), part) {
				t.Errorf("no %q in\n%s", part, &out)
			}
		}
	}
}

// TestAcceptanceSeesWhatIsWrong: as with the watcher.
func TestAcceptanceSeesWhatIsWrong(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	for name, c := range map[string]struct {
		// each is a message's id, body and seq, and when it was sent and answered.
		sent  [][5]int
		wrong int
	}{
		"right":             {[][5]int{{1, 1, 1, 0, 9}, {2, 1, 2, 3, 4}, {1, 1, 1, 5, 6}}, 0},
		"at once":           {[][5]int{{1, 1, 2, 0, 9}, {2, 1, 1, 3, 4}}, 0},
		"out of order":      {[][5]int{{1, 1, 2, 0, 1}, {2, 1, 1, 3, 4}}, 1},
		"a gap":             {[][5]int{{1, 1, 1, 0, 1}, {2, 1, 3, 3, 4}}, 1},
		"two numbers":       {[][5]int{{1, 1, 1, 0, 1}, {1, 1, 2, 3, 4}}, 1},
		"no number":         {[][5]int{{1, 1, 0, 0, 1}}, 1},
		"another's, so far": {[][5]int{{1, 1, 1, 0, 1}, {1, 2, 1, 3, 4}}, 1},
	} {
		var arrivals []traffic.Arrival
		var answers []answered
		for _, s := range c.sent {
			a, err := traffic.NewArrival(fmt.Appendf(nil, `{"queue":"q","id":"m-%d","body":%d}`, s[0], s[1]))
			if err != nil {
				t.Fatal(err)
			}
			arrivals = append(arrivals, a)
			answers = append(answers, answered{client.Outcome{Outcome: "advanced", Seq: jsonseq.Seq(s[2])}, at(s[3]), at(s[4])})
		}
		if _, wrong := acceptance(arrivals, answers); min(len(wrong), 1) != c.wrong {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for name, value := range map[string]string{"MODE": "both", "ORDER": "any", "CHAOS": "maybe", "TRACKED": "yes"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := fromEnvironment(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// keyedData are real payloads under their senders' own times, four of which come last of all.
const keyedData = "../../../shared/data/github-webhooks-keyed.ndjson"

// TestKeyedDemo: what is sorted by a time comes out by it, also where processes are killed.
func TestKeyedDemo(t *testing.T) {
	for _, o := range some(options{mode: "sync", keyed: true}, options{mode: "sync", keyed: true, chaos: true}) {
		t.Run(fmt.Sprintf("chaos %v", o.chaos), func(t *testing.T) {
			o.count = 200
			var out bytes.Buffer
			if err := run(t.Context(), o, &out); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			for _, part := range []string{"0 as they came out", "3 told, 3 stragglers sent", "your function  203 messages of 3 queues", "lost                0"} {
				if !strings.Contains(out.String(), part) {
					t.Errorf("no %q in\n%s", part, &out)
				}
			}
		})
	}
	if _, err := os.Stat(keyedData); err != nil || testing.Short() {
		t.Logf("no real payloads: %v", err)
		return
	}
	var out bytes.Buffer
	if err := run(t.Context(), options{input: keyedData, mode: "sync", keyed: true}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, part := range []string{"265 messages", "duplicates          12", "4 told, 4 stragglers sent", "your function  253 messages of 17 queues", "process        253 messages of 17 queues"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
}
