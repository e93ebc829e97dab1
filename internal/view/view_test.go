package view_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

var now = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// TestIn: a consumer that is in several states is said to be in the first of an order, and the
// others are beside it.
func TestIn(t *testing.T) {
	at := func(states ...view.State) (aspects []view.Aspect) {
		for _, s := range states {
			aspects = append(aspects, view.Aspect{State: s, Cause: "of " + string(s)})
		}
		return aspects
	}
	for want, states := range map[string][]view.State{
		"ok []":                              nil,
		"catching-up []":                     {view.CatchingUp},
		"retrying []":                        {view.CatchingUp, view.Retrying, view.Retrying},
		"held [retrying]":                    {view.Retrying, view.Held},
		"blocked [held]":                     {view.Held, view.Blocked, view.CatchingUp},
		"paused [blocked in-doubt retrying]": {view.InDoubt, view.Retrying, view.Blocked, view.Paused},
	} {
		first, also := view.In(at(states...)...)
		check.Is(t, fmt.Sprintf("%s %v", first.State, also), want, states)
		if len(states) > 0 {
			check.Is(t, first.Cause, "of "+string(first.State), states)
		}
	}
}

func head(queue string, state view.State, group string, ago time.Duration) view.Head {
	return view.Head{
		Queue: printable.Name(queue), Consumer: "books", State: state, Cause: view.Failed,
		Since: now.Add(-ago),
		Seq:   new(jsonseq.Seq(1)), Error: printable.Name(group + " of " + queue),
		Group: printable.Name(group),
	}
}

// TestGroups: one cause is one group in whatever states its queues are, with how many are in each,
// and its examples are the oldest, a few. What is blocked comes before larger groups that are only
// tried again.
func TestGroups(t *testing.T) {
	var heads []view.Head
	for i := range 30 { // those held come before what else fails so, and between others
		state := []view.State{view.Held, view.Blocked, view.Retrying}[i%3]
		heads = append(heads, head(fmt.Sprintf("q%02d", i), state, "boom", time.Duration(i)*time.Minute))
	}
	for i := range 40 {
		heads = append(heads, head(fmt.Sprint("r", i), view.Retrying, "bang", time.Hour))
	}
	for i := range 3 { // one name's circuit breaker is one cause, whatever each queue was answered
		heads = append(heads,
			head(fmt.Sprint("h", i), view.Held, []string{"", "away", "gone"}[i], time.Minute))
	}
	missing := head("m", view.Blocked, "", 0)
	missing.Cause = view.Missing
	groups, more := view.Groups(now, append(heads, missing))
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s %s %q %s", g.State, g.Cause, g.Error, g.Queues()))
	}
	want := []string{
		`blocked failed "boom" 30 queues: 10 blocked, 10 held, 10 retrying`, `blocked missing "" 1 queue blocked`,
		`held failed "away" 3 queues held`, `retrying failed "bang" 40 queues retrying`,
	}
	check.Need(t, slices.Equal(got, want) && !more, "%q, more %t; want %q", got, more, want)
	first := groups[0]
	check.That(t, first.Since.Equal(now.Add(-29*time.Minute)) && first.Age == 29*60,
		"the largest is %+v", first)
	check.That(t, len(first.Examples) == view.MaxExamples && first.Examples[0].Queue == "q29" &&
		first.Examples[0].Error == "boom of q29",
		"its examples are %+v", first.Examples)
	for i := range view.MaxGroups {
		heads = append(heads, head("q", view.Retrying, fmt.Sprint("e", i), 0))
	}
	groups, more = view.Groups(now, heads)
	check.That(t, len(groups) == view.MaxGroups && more, "%d groups, more %t", len(groups), more)
}

// TestWhy: each state has words, what to type, and a section, the worst first; names are quoted as
// a shell needs.
func TestWhy(t *testing.T) {
	seq := new(jsonseq.Seq(42))
	q := view.Queue{Queue: "it's", State: view.Gap, Position: 41, MaxParked: 50, Seq: seq}
	all := []view.Consumer{
		{Head: view.Head{Consumer: "a", State: view.OK}},
		{Head: view.Head{Consumer: "b", State: view.CatchingUp, Lag: new(jsonseq.Seq(7))}},
		{Head: view.Head{Consumer: "c", State: view.Paused, Also: []view.State{view.Blocked}, Seq: seq, Error: "boom", Attempt: 5}, Paused: &view.Pause{Reason: "night"}},
		{Head: view.Head{Consumer: "d", State: view.Retrying, Cause: view.Died, Seq: seq, NextTry: now}},
		{Head: view.Head{Consumer: "e", State: view.Held, Cause: view.Open}},
		{Head: view.Head{Consumer: "f", State: view.InDoubt}, Quarantine: []view.Quarantine{{Token: "7-ab"}}},
		{Head: view.Head{Consumer: "g", State: view.Blocked, Cause: view.Missing, Seq: seq}},
	}
	reasons := view.Why(q, all)
	var got []string
	for _, r := range reasons {
		got = append(got, string(r.State)+" "+r.Consumer)
		check.That(t, r.Text != "" && len(r.Type) != 0 && r.Anchor == "#"+string(r.State) &&
			r.Queue == "it's",
			"%+v", r)
	}
	want := []string{"blocked c", "blocked g", "in-doubt f", "gap ", "held e", "retrying d",
		"paused c", "catching-up b"}
	check.That(t, slices.Equal(got, want), "%q, want %q", got, want)
	for i, want := range map[int]string{
		0: `streamsort redrive 'it'\''s' c --reason TEXT`, 1: `streamsort rewind 'it'\''s' g --start 42 --reason TEXT`,
		2: `streamsort consumer settle 'it'\''s' f 7-ab COMMITTED --reason TEXT`, 6: `streamsort resume 'it'\''s' c --reason TEXT`,
	} {
		check.That(t, reasons[i].Type[0] == want, "%s, want %s", reasons[i].Type[0], want)
	}
	check.That(t, reasons[0].Error == "boom" &&
		strings.Contains(reasons[0].Text, "42 failed 5 times") &&
		strings.Contains(reasons[6].Text, "night"),
		"%+v", reasons)
	check.Is(t, len(view.Why(view.Queue{Queue: "q", State: view.OK}, all[:1])), 0)
}

// TestWhyOfOneThatIsPaused: what failed is not tried again by itself while an operator paused the
// consumer.
func TestWhyOfOneThatIsPaused(t *testing.T) {
	for state, want := range map[view.State]string{
		view.Paused: "tried again once the consumer is resumed", view.Retrying: "tried again by itself",
	} {
		c := view.Consumer{Head: view.Head{Consumer: "c", State: state,
			Seq: new(jsonseq.Seq(2)), Attempt: 1}}
		if state == view.Paused {
			c.Also = []view.State{view.Retrying}
		}
		check.Has(t, view.Why(view.Queue{State: view.OK}, []view.Consumer{c})[0].Text, want, state)
	}
}

// TestWhyOfABatch: a batch that failed as a whole is named as one, and its first message is not to
// blame.
func TestWhyOfABatch(t *testing.T) {
	alone := view.Consumer{
		Head: view.Head{Consumer: "c", State: view.Retrying, Cause: view.Failed,
			Seq: new(jsonseq.Seq(1)), Error: "boom", Attempt: 2},
		Attempts: []view.Attempt{{Attempt: 2, From: 1, To: 1}},
	}
	batch, away := alone, alone
	batch.To, batch.Attempts = new(jsonseq.Seq(4)), []view.Attempt{{Attempt: 2, From: 1, To: 4}}
	away.Sink = &view.Sink{FailingSince: now}
	held := batch
	held.State, held.Cause, held.Also = view.Held, view.Open, []view.State{view.Retrying}
	for i, c := range []struct {
		of   view.Consumer
		text string
		kind string
	}{
		{alone, "Message 1 failed 2 times", "[streamsort inspect q@1 streamsort redrive q c --reason TEXT streamsort skip q@1 c --reason TEXT]"},
		{batch, "The batch of messages 1 to 4 failed 2 times", "[streamsort tail q --from 1 streamsort redrive q c --reason TEXT]"},
		{away, "Wait, or repair the sink", "[streamsort inspect q@1 streamsort consumer --state retrying --consumer c]"},
		{held, "The batch of messages 1 to 4 failed 2 times", "[streamsort consumer --state held --consumer c streamsort redrive q c --reason TEXT]"},
	} {
		r := view.Why(view.Queue{Queue: "q"}, []view.Consumer{c.of})
		check.That(t, len(r) == 1 && strings.Contains(r[0].Text, c.text) &&
			fmt.Sprint(r[0].Type) == c.kind,
			"%d: %+v", i, r)
	}
}

// TestDuration: in words, and what is no duration as it is.
func TestDuration(t *testing.T) {
	for text, want := range map[string]string{
		"5m0s": "5 minutes", "1m30s": "1 minute 30 seconds", "48h0m0s": "2 days", "100ms": "100 milliseconds", "0s": "0s", "soon": "soon",
	} {
		check.Is(t, view.Duration(text), want, text)
	}
}

// TestCausesHaveWords: each cause of retrying is said in words of its own.
func TestCausesHaveWords(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []view.Head{
		{State: view.Retrying, Cause: view.Failed},
		{State: view.Retrying, Cause: view.SinkAway},
		{State: view.Retrying, Cause: view.Died},
		{State: view.Retrying, Cause: view.Replies},
		{State: view.Held, Cause: view.Open},
		{State: view.Held, Cause: view.Waking},
		{State: view.CatchingUp},
		{State: view.CatchingUp, Cause: view.Starting},
		{State: view.InDoubt, Cause: view.Prepared},
		{State: view.Blocked, Cause: view.Failed},
		{State: view.Blocked, Cause: view.Missing},
	} {
		r := view.Why(view.Queue{Queue: "q"}, []view.Consumer{{Head: c}})
		check.Need(t, len(r) == 1 && !seen[r[0].Text] && r[0].Cause == c.Cause, "%+v: %+v", c, r)
		seen[r[0].Text] = true
	}
}

// TestDocuments: what is not known is left out, and what was written is read.
func TestDocuments(t *testing.T) {
	raw := check.Get(json.Marshal(
		view.Consumer{Head: view.Head{Queue: "q", Consumer: "c", State: view.OK}}))
	check.Is(t, string(raw), `{"queue":"q","consumer":"c","state":"ok","rewinds":0}`)
	h := head("q", view.Blocked, "boom", time.Minute)
	raw = check.Get(json.Marshal(h))
	var read view.Head
	check.OK(t, json.Unmarshal(raw, &read))
	check.That(t, read.Error == h.Error && *read.Seq == *h.Seq && read.Since.Equal(h.Since) &&
		read.Is(view.Blocked) && !read.Is(view.Paused), "%s: %+v", raw, read)
}

// TestPlaceOfASeq is in a gap, or behind those before it; nothing is known beyond what was seen.
func TestPlaceOfASeq(t *testing.T) {
	gaps := view.Gaps{MaxParked: 9, Gaps: []view.Range{{From: 3, To: 4}, {From: 7, To: 8}}}
	early, more := gaps, gaps
	early.MaxParked, more.More = 5, true
	place := func(g view.Gaps, seq int64, want string) {
		in, behind := g.Place(seq)
		got := fmt.Sprint(in != nil && in.From <= jsonseq.Seq(seq) &&
			jsonseq.Seq(seq) <= in.To, len(behind))
		check.That(t, got == want, "%d in %+v: %s, want %s", seq, g, got, want)
	}
	for seq, want := range map[int64]string{3: "true 0", 8: "true 0", 5: "false 1", 9: "false 2",
		10: "false 0"} {
		place(gaps, seq, want)
	}
	place(early, 6, "false 1")
	place(more, 9, "false 0")
	place(view.Gaps{MaxParked: 9}, 9, "false 0")
}
