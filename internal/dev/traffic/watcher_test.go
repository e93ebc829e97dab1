package traffic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// The queues of which not all comes, from a seq on: it is missing in the one, and poisoned in the
// other.
const (
	gapQueue, poisonQueue = "gap", "poison"
	bad                   = 3
)

func getsAll(p Place) bool { return p.Queue != gapQueue || p.Seq < bad }

func getsGood(p Place) bool { return getsAll(p) && (p.Queue != poisonQueue || p.Seq < bad) }

// threeQueues is an account of three messages of the queue q, of the poisoned queue and of the one
// with the gap.
func threeQueues() *Account {
	in := NewAccount()
	for _, queue := range []string{"q", poisonQueue, gapQueue} {
		for seq := int64(1); seq <= 4; seq++ {
			if queue != gapQueue || seq != bad {
				in.Note(Message{Place: Place{queue, seq}, Sums: bodyOf(seq)})
			}
		}
	}
	return in
}

func bodyOf(seq int64) Sums { return SumsOf(fmt.Appendf(nil, `{"n": %d}`, seq)) }

// came is a message of a queue that came under a token, some time after the first.
func came(queue string, seq, token int64, after time.Duration) Output {
	return Output{Place: Place{queue, seq}, Token: token, ID: fmt.Sprint(seq), Sums: bodyOf(seq),
		At: time.Unix(1e9, 0).Add(after)}
}

// TestWatcherSeesWhatIsWrong: a check that never fails checks nothing.
func TestWatcherSeesWhatIsWrong(t *testing.T) {
	q := func(seq, token int64) Output { return came("q", seq, token, 0) }
	late := func(seq, token int64) Output { return came("q", seq, token, remembered) }
	renamed := q(1, 2)
	renamed.ID = "another"
	changed := q(1, 1)
	changed.Sums = bodyOf(2)
	rewritten := Output{Place: Place{"q", 1}, Token: 1, Sums: SumsOf([]byte(`{"n":1}`)),
		Rewritten: true}
	value := rewritten
	value.Sums = SumsOf([]byte(`{"n":2}`))
	exact := rewritten
	exact.Rewritten = false
	for _, c := range []struct {
		name    string
		allowed Rule
		come    []Output
		want    State
		says    string
	}{
		{"function: right", Fenced, []Output{q(1, 1), q(2, 1), q(3, 2)}, State{Messages: 3}, ""},
		{"function: again, as the token tells", Fenced, []Output{q(1, 1), q(2, 1), q(1, 2), q(2, 2), q(3, 2)}, State{Messages: 3, Again: 2}, ""},
		{"function: of a claim that is over", Fenced, []Output{q(1, 1), q(1, 2), q(2, 1), q(2, 2)}, State{Messages: 2, Again: 1, Stale: 1}, ""},
		{"function: again, and the token does not tell", Fenced, []Output{q(1, 1), q(1, 1)}, State{Messages: 1, Again: 1, Violations: 1}, "2 was due"},
		{"function: one left out", Fenced, []Output{q(1, 1), q(3, 1)}, State{Messages: 2, Violations: 1}, "2 was due"},
		{"function: one left out by a later claim", Fenced, []Output{q(1, 1), q(3, 2)}, State{Messages: 2, Violations: 1}, "2 was due"},
		{"function: begins too late", Fenced, []Output{q(2, 1)}, State{Messages: 1, Violations: 1}, "1 was due"},
		{"function: backwards", Fenced, []Output{q(1, 1), q(2, 1), q(2, 2), q(1, 2)}, State{Messages: 2, Again: 2, Violations: 1}, "3 was due"},
		{"queue: right", Queued, []Output{q(1, 1), q(2, 1), q(3, 3)}, State{Messages: 3}, ""},
		{"queue: one left out", Queued, []Output{q(1, 1), q(3, 1)}, State{Messages: 2, Violations: 1}, "2 was due"},
		{"queue: swapped", Queued, []Output{q(2, 1), q(1, 1)}, State{Messages: 2, Violations: 2}, "1 was due"},
		{"queue: not dropped", Queued, []Output{q(1, 1), q(1, 2)}, State{Messages: 1, Again: 1, Violations: 1}, "another deduplication id"},
		{"queue: again when it cannot be dropped", Queued, []Output{q(1, 1), q(2, 1), late(1, 2)}, State{Messages: 2, Again: 1}, ""},
		{"queue: again, and the token does not tell", Queued, []Output{q(1, 1), late(1, 1)}, State{Messages: 1, Again: 1, Violations: 1}, "does not tell"},
		{"bus: any order", Unordered, []Output{q(3, 1), q(1, 2), q(2, 1)}, State{Messages: 3}, ""},
		{"bus: again, as the token tells", Unordered, []Output{q(1, 1), q(1, 3), q(1, 2)}, State{Messages: 1, Again: 2}, ""},
		{"bus: again under the same token", Unordered, []Output{q(1, 1), q(1, 3), q(1, 1)}, State{Messages: 1, Again: 2, Violations: 1}, "same token"},
		{"no process fails: again, as the token tells", Unfailing, []Output{q(1, 1), q(1, 2)}, State{Messages: 1, Again: 1}, ""},
		{"no process fails: of a claim that is over", Unfailing, []Output{q(1, 2), q(1, 1)}, State{Messages: 1, Again: 1, Violations: 1}, "not above 2"},
		{"endpoint: right", Named, []Output{q(1, 1), q(1, 2), q(2, 3)}, State{Messages: 2, Again: 1}, ""},
		{"endpoint: one left out", Named, []Output{q(2, 1)}, State{Messages: 1, Violations: 1}, "1 was due"},
		{"endpoint: under another id", Named, []Output{q(1, 1), renamed}, State{Messages: 1, Again: 1, Violations: 1}, "under another id"},
		{"endpoint: under the same token", Named, []Output{q(1, 1), q(1, 1)}, State{Messages: 1, Again: 1, Violations: 1}, "under the token 1"},
		{"database: right", Once, []Output{q(1, 0), q(2, 0)}, State{Messages: 2}, ""},
		{"database: one left out", Once, []Output{q(2, 0)}, State{Messages: 1, Violations: 1}, "1 was due"},
		{"database: twice", Once, []Output{q(1, 0), q(1, 0)}, State{Messages: 1, Again: 1, Violations: 1}, "not as a later attempt"},
		{"never sent", Unordered, []Output{q(9, 1), came("other", 1, 1, 0)}, State{Violations: 2}, "never sent"},
		{"another body", Unordered, []Output{changed}, State{Messages: 1, Violations: 1}, "another body"},
		{"JSON written anew", Unordered, []Output{rewritten}, State{Messages: 1}, ""},
		{"JSON written anew, another value", Unordered, []Output{value}, State{Messages: 1, Violations: 1}, "another body"},
		{"JSON that should not be written anew", Unordered, []Output{exact}, State{Messages: 1, Violations: 1}, "another body"},
		{"behind the gap", Unordered, []Output{came(gapQueue, 4, 1, 0)}, State{Messages: 1, Violations: 1}, "must not"},
		{"before the gap", Unordered, []Output{came(gapQueue, 2, 1, 0)}, State{Messages: 1}, ""},
		{"poison, and behind it", Unordered, []Output{came(poisonQueue, 3, 1, 0), came(poisonQueue, 4, 1, 0)}, State{Messages: 2, Violations: 2}, "must not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWatcher("sink", c.allowed, getsGood, threeQueues())
			for _, o := range c.come {
				w.Take(o)
			}
			check.Is(t, w.State(), c.want, w.Report())
			got := strings.Join(w.Report(), "\n")
			check.That(t, strings.Contains(got, c.says), "report %q, want %q", got, c.says)
		})
	}
}

// TestMissing: what is due and did not come is lost, but for what must not come.
func TestMissing(t *testing.T) {
	all := NewWatcher("all", Unordered, getsAll, threeQueues())
	if missing := all.Missing(); len(missing) != 4+4+2 {
		t.Errorf("missing %v", missing)
	}
	some := NewWatcher("some", Unordered, getsGood, threeQueues())
	for _, o := range []Output{came("q", 1, 1, 0), came("q", 2, 1, 0), came("q", 4, 1, 0),
		came(gapQueue, 1, 1, 0), came(poisonQueue, 1, 1, 0), came(poisonQueue, 2, 1, 0)} {
		some.Take(o)
	}
	missing := some.Missing()
	if len(missing) != 2 || missing[0] != (Place{gapQueue, 2}) || missing[1] != (Place{"q", 3}) {
		t.Errorf("missing %v", missing)
	}
}

// TestManyViolations: the first ones are reported in words, the others are counted.
func TestManyViolations(t *testing.T) {
	w := NewWatcher("sink", Queued, getsAll, threeQueues())
	for range 2 * most {
		w.Take(came("other", 1, 1, 0))
	}
	report := w.Report()
	if w.State().Violations != 2*most || len(report) != most+1 ||
		!strings.Contains(report[most], "20 more") {
		t.Errorf("%d violations, report %q", w.State().Violations, report)
	}
}

// logged is what a function logs of a batch.
func logLine(from, to int, token int, seqs ...int64) string {
	var messages []string
	for _, seq := range seqs {
		messages = append(messages, fmt.Sprintf(`{"seq":%d,"sha256":%q}`, seq, bodyOf(seq).Exact))
	}
	return fmt.Sprintf(`{"message":"batch","queue":"q","token":%d,"from":%d,"to":%d,"messages":[%s]}`,
		token, from, to, strings.Join(messages, ","))
}

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  State
	}{
		"right":                {[]string{logLine(0, 2, 1, 1, 2), logLine(2, 3, 2, 3)}, State{Messages: 3}},
		"again":                {[]string{logLine(0, 2, 1, 1, 2), logLine(0, 1, 2, 1), logLine(1, 3, 3, 2, 3)}, State{Messages: 3, Again: 2}},
		"half a line":          {[]string{logLine(0, 1, 1, 1)[:40], logLine(0, 1, 2, 1)}, State{Messages: 1}},
		"another line":         {[]string{`{"message":"no batch","queue":"q","from":5}`}, State{}},
		"swapped":              {[]string{logLine(0, 2, 1, 2, 1)}, State{Messages: 2, Violations: 4}},
		"one left out":         {[]string{logLine(0, 3, 1, 1, 3)}, State{Messages: 2, Violations: 3}},
		"shorter than it says": {[]string{logLine(0, 3, 1, 1, 2)}, State{Messages: 2, Violations: 1}},
		"skips":                {[]string{strings.Replace(logLine(0, 1, 1, 1), `"messages"`, `"skipped":[2],"messages"`, 1)}, State{Messages: 1, Violations: 1}},
	} {
		w := NewWatcher("function", Fenced, getsAll, threeQueues())
		for _, l := range c.lines {
			w.Line(l)
		}
		got := w.State()
		got.Batches = 0
		check.Is(t, got, c.want, name, w.Report())
	}
}
