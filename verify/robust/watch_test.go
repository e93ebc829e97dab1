package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// threeQueues is an account of three messages of the queue q, of the poisoned queue and of the one
// with the gap.
func threeQueues() *account {
	in := newAccount()
	for _, queue := range []string{"q", poisonQueue, gapQueue} {
		for seq := int64(1); seq <= 4; seq++ {
			if queue != gapQueue || seq != bad {
				in.note(message{place: place{queue, seq}, sums: bodyOf(seq)})
			}
		}
	}
	return in
}

func bodyOf(seq int64) sums { return sumsOf(fmt.Appendf(nil, `{"n": %d}`, seq)) }

// came is a message of a queue that came under a token, some time after the first.
func came(queue string, seq, token int64, after time.Duration) output {
	return output{place: place{queue, seq}, token: token, id: fmt.Sprint(seq), sums: bodyOf(seq), at: time.Unix(1e9, 0).Add(after)}
}

// TestWatcherSeesWhatIsWrong: a check that never fails checks nothing.
func TestWatcherSeesWhatIsWrong(t *testing.T) {
	q := func(seq, token int64) output { return came("q", seq, token, 0) }
	late := func(seq, token int64) output { return came("q", seq, token, remembered) }
	renamed := q(1, 2)
	renamed.id = "another"
	changed := q(1, 1)
	changed.sums = bodyOf(2)
	rewritten := output{place: place{"q", 1}, token: 1, sums: sumsOf([]byte(`{"n":1}`)), rewritten: true}
	value := rewritten
	value.sums = sumsOf([]byte(`{"n":2}`))
	exact := rewritten
	exact.rewritten = false
	for _, c := range []struct {
		name    string
		allowed rule
		come    []output
		want    state
		says    string
	}{
		{"function: right", fenced, []output{q(1, 1), q(2, 1), q(3, 2)}, state{messages: 3}, ""},
		{"function: again, as the token tells", fenced, []output{q(1, 1), q(2, 1), q(1, 2), q(2, 2), q(3, 2)}, state{messages: 3, again: 2}, ""},
		{"function: of a claim that is over", fenced, []output{q(1, 1), q(1, 2), q(2, 1), q(2, 2)}, state{messages: 2, again: 1, stale: 1}, ""},
		{"function: again, and the token does not tell", fenced, []output{q(1, 1), q(1, 1)}, state{messages: 1, again: 1, violations: 1}, "2 was due"},
		{"function: one left out", fenced, []output{q(1, 1), q(3, 1)}, state{messages: 2, violations: 1}, "2 was due"},
		{"function: one left out by a later claim", fenced, []output{q(1, 1), q(3, 2)}, state{messages: 2, violations: 1}, "2 was due"},
		{"function: begins too late", fenced, []output{q(2, 1)}, state{messages: 1, violations: 1}, "1 was due"},
		{"function: backwards", fenced, []output{q(1, 1), q(2, 1), q(2, 2), q(1, 2)}, state{messages: 2, again: 2, violations: 1}, "3 was due"},
		{"queue: right", queued, []output{q(1, 1), q(2, 1), q(3, 3)}, state{messages: 3}, ""},
		{"queue: one left out", queued, []output{q(1, 1), q(3, 1)}, state{messages: 2, violations: 1}, "2 was due"},
		{"queue: swapped", queued, []output{q(2, 1), q(1, 1)}, state{messages: 2, violations: 2}, "1 was due"},
		{"queue: not dropped", queued, []output{q(1, 1), q(1, 2)}, state{messages: 1, again: 1, violations: 1}, "another deduplication id"},
		{"queue: again when it cannot be dropped", queued, []output{q(1, 1), q(2, 1), late(1, 2)}, state{messages: 2, again: 1}, ""},
		{"queue: again, and the token does not tell", queued, []output{q(1, 1), late(1, 1)}, state{messages: 1, again: 1, violations: 1}, "does not tell"},
		{"bus: any order", unordered, []output{q(3, 1), q(1, 2), q(2, 1)}, state{messages: 3}, ""},
		{"bus: again, as the token tells", unordered, []output{q(1, 1), q(1, 3), q(1, 2)}, state{messages: 1, again: 2}, ""},
		{"bus: again under the same token", unordered, []output{q(1, 1), q(1, 3), q(1, 1)}, state{messages: 1, again: 2, violations: 1}, "same token"},
		{"no process fails: again, as the token tells", unfailing, []output{q(1, 1), q(1, 2)}, state{messages: 1, again: 1}, ""},
		{"no process fails: of a claim that is over", unfailing, []output{q(1, 2), q(1, 1)}, state{messages: 1, again: 1, violations: 1}, "not above 2"},
		{"endpoint: right", named, []output{q(1, 1), q(1, 2), q(2, 3)}, state{messages: 2, again: 1}, ""},
		{"endpoint: one left out", named, []output{q(2, 1)}, state{messages: 1, violations: 1}, "1 was due"},
		{"endpoint: under another id", named, []output{q(1, 1), renamed}, state{messages: 1, again: 1, violations: 1}, "under another id"},
		{"endpoint: under the same token", named, []output{q(1, 1), q(1, 1)}, state{messages: 1, again: 1, violations: 1}, "under the token 1"},
		{"database: right", once, []output{q(1, 0), q(2, 0)}, state{messages: 2}, ""},
		{"database: one left out", once, []output{q(2, 0)}, state{messages: 1, violations: 1}, "1 was due"},
		{"database: twice", once, []output{q(1, 0), q(1, 0)}, state{messages: 1, again: 1, violations: 1}, "not as a later attempt"},
		{"never sent", unordered, []output{q(9, 1), came("other", 1, 1, 0)}, state{violations: 2}, "never sent"},
		{"another body", unordered, []output{changed}, state{messages: 1, violations: 1}, "another body"},
		{"JSON written anew", unordered, []output{rewritten}, state{messages: 1}, ""},
		{"JSON written anew, another value", unordered, []output{value}, state{messages: 1, violations: 1}, "another body"},
		{"JSON that should not be written anew", unordered, []output{exact}, state{messages: 1, violations: 1}, "another body"},
		{"behind the gap", unordered, []output{came(gapQueue, 4, 1, 0)}, state{messages: 1, violations: 1}, "must not"},
		{"before the gap", unordered, []output{came(gapQueue, 2, 1, 0)}, state{messages: 1}, ""},
		{"poison, and behind it", unordered, []output{came(poisonQueue, 3, 1, 0), came(poisonQueue, 4, 1, 0)}, state{messages: 2, violations: 2}, "must not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWatcher("sink", c.allowed, getsGood, threeQueues())
			for _, o := range c.come {
				w.take(o)
			}
			check.Is(t, w.state(), c.want, w.report())
			got := strings.Join(w.report(), "\n")
			check.That(t, strings.Contains(got, c.says), "report %q, want %q", got, c.says)
		})
	}
}

// TestMissing: what is due and did not come is lost, but for what must not come.
func TestMissing(t *testing.T) {
	all := newWatcher("all", unordered, getsAll, threeQueues())
	if missing := all.missing(); len(missing) != 4+4+2 {
		t.Errorf("missing %v", missing)
	}
	some := newWatcher("some", unordered, getsGood, threeQueues())
	for _, o := range []output{came("q", 1, 1, 0), came("q", 2, 1, 0), came("q", 4, 1, 0), came(gapQueue, 1, 1, 0), came(poisonQueue, 1, 1, 0), came(poisonQueue, 2, 1, 0)} {
		some.take(o)
	}
	missing := some.missing()
	if len(missing) != 2 || missing[0] != (place{gapQueue, 2}) || missing[1] != (place{"q", 3}) {
		t.Errorf("missing %v", missing)
	}
}

// TestManyViolations: the first ones are reported in words, the others are counted.
func TestManyViolations(t *testing.T) {
	w := newWatcher("sink", queued, getsAll, threeQueues())
	for range 2 * most {
		w.take(came("other", 1, 1, 0))
	}
	report := w.report()
	if w.state().violations != 2*most || len(report) != most+1 || !strings.Contains(report[most], "20 more") {
		t.Errorf("%d violations, report %q", w.state().violations, report)
	}
}

// logged is what a function logs of a batch.
func logLine(from, to int, token int, seqs ...int64) string {
	var messages []string
	for _, seq := range seqs {
		messages = append(messages, fmt.Sprintf(`{"seq":%d,"sha256":%q}`, seq, bodyOf(seq).exact))
	}
	return fmt.Sprintf(`{"message":"batch","queue":"q","token":%d,"from":%d,"to":%d,"messages":[%s]}`, token, from, to, strings.Join(messages, ","))
}

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  state
	}{
		"right":                {[]string{logLine(0, 2, 1, 1, 2), logLine(2, 3, 2, 3)}, state{messages: 3}},
		"again":                {[]string{logLine(0, 2, 1, 1, 2), logLine(0, 1, 2, 1), logLine(1, 3, 3, 2, 3)}, state{messages: 3, again: 2}},
		"half a line":          {[]string{logLine(0, 1, 1, 1)[:40], logLine(0, 1, 2, 1)}, state{messages: 1}},
		"another line":         {[]string{`{"message":"no batch","queue":"q","from":5}`}, state{}},
		"swapped":              {[]string{logLine(0, 2, 1, 2, 1)}, state{messages: 2, violations: 4}},
		"one left out":         {[]string{logLine(0, 3, 1, 1, 3)}, state{messages: 2, violations: 3}},
		"shorter than it says": {[]string{logLine(0, 3, 1, 1, 2)}, state{messages: 2, violations: 1}},
		"skips":                {[]string{strings.Replace(logLine(0, 1, 1, 1), `"messages"`, `"skipped":[2],"messages"`, 1)}, state{messages: 1, violations: 1}},
	} {
		w := newWatcher("function", fenced, getsAll, threeQueues())
		for _, l := range c.lines {
			w.line(l)
		}
		got := w.state()
		got.batches = 0
		check.Is(t, got, c.want, name, w.report())
	}
}
