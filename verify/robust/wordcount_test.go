package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestCheckSeesWhatIsWrong: a check that never fails checks nothing.
func TestCheckSeesWhatIsWrong(t *testing.T) {
	d := database{{"f", "A wolf, a wolf"}}
	right := func() ended {
		return ended{
			tag: "q/1", counts: map[string]int{"a": 2, "wolf": 2}, sealed: true,
			steps: []step{{Kind: "file", Name: "f", Outcome: "applied", N: "7"},
				{Kind: "word", Name: "wolf", Outcome: "ended", N: "0"}},
			failed: []step{{Name: "wolf", Attempt: 1}, {Name: "wolf", Attempt: 2}},
			ends: []step{{Outcome: "DONE", Edges: 6, Ended: 6, ID: "x"},
				{Outcome: "DONE", Edges: 6, Ended: 6, ID: "x"}},
		}
	}
	if e := right(); e.check(d, "wolf") != nil {
		t.Fatal(e.check(d, "wolf"))
	}
	again := right()
	again.steps = append(again.steps, again.steps[1])
	check.That(t, again.check(d, "wolf") == nil, "%v", again.check(d, "wolf"))
	for name, spoil := range map[string]func(*ended){
		"failed":              func(e *ended) { e.ends[0].Outcome = "FAILED" },
		"an edge too few":     func(e *ended) { e.ends[0].Edges, e.ends[0].Ended = 5, 5 },
		"an edge is open":     func(e *ended) { e.ends[0].Ended = 5 },
		"another id":          func(e *ended) { e.ends[1].ID = "y" },
		"no id":               func(e *ended) { e.ends[0].ID, e.ends[1].ID = "", "" },
		"no end":              func(e *ended) { e.ends = nil },
		"nobody ended it":     func(e *ended) { e.steps = e.steps[:1] },
		"two ended it":        func(e *ended) { e.steps = append(e.steps, step{Edge: "other", Outcome: "ended", N: "0"}) },
		"n is not 0":          func(e *ended) { e.steps[1].N = "3" },
		"counted twice":       func(e *ended) { e.counts["a"]++ },
		"not counted":         func(e *ended) { delete(e.counts, "a") },
		"counted too much":    func(e *ended) { e.counts["b"] = 1 },
		"it failed once":      func(e *ended) { e.failed = e.failed[:1] },
		"it failed too often": func(e *ended) { e.failed = append(e.failed, e.failed[0]) },
		"it is not sealed":    func(e *ended) { e.sealed = false },
	} {
		e := right()
		e.ends, e.steps, e.counts = slices.Clone(e.ends), slices.Clone(e.steps), maps.Clone(e.counts)
		spoil(&e)
		check.That(t, e.check(d, "wolf") != nil, "%s: nothing is found", name)
	}
}

func TestOrderIsSeen(t *testing.T) {
	create := func(i int) step { return step{Kind: "create", Tag: tagOf(i)} }
	for name, c := range map[string]struct {
		steps []step
		right bool
	}{
		"in order":     {[]step{create(0), create(1)}, true},
		"again":        {[]step{create(0), create(1), create(0)}, true},
		"out of order": {[]step{create(1), create(0)}, false},
		"one missing":  {[]step{create(0)}, false},
	} {
		err := inOrder(c.steps, 2)
		check.That(t, (err == nil) == c.right, "%s: %v", name, err)
	}
}

// TestBankSeesWhatIsWrong: a check that never fails checks nothing.
func TestBankSeesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		charges []string // id and attempt
		wrong   int
	}{
		"right":                  {[]string{"a/1 1", "a/2 1", "b/1 1"}, 0},
		"again, as attempt 2":    {[]string{"a/1 1", "a/1 2", "a/2 1"}, 0},
		"again, as attempt 1":    {[]string{"a/1 1", "a/1 1"}, 1},
		"out of order":           {[]string{"a/2 1", "a/1 1"}, 2},
		"one left out":           {[]string{"a/1 1", "a/4 1"}, 1},
		"accounts are their own": {[]string{"a/1 1", "b/1 1", "b/2 1", "a/2 1"}, 0},
	} {
		w := check.Get(newWorld(values{}, t.Output()))
		for _, account := range []string{"a", "b"} {
			for seq := range int64(4) {
				w.Account.Note(charge(account, seq+1, "{}"))
			}
		}
		b := &bank{watched: w.Watch("bank", traffic.Once, traffic.All), receipts: map[string]int{}}
		for _, charge := range c.charges {
			id, attempt, _ := strings.Cut(charge, " ")
			request := httptest.NewRequest(http.MethodPost, "/charges?id="+id, nil)
			request.Header.Set("Attempt", attempt)
			b.ServeHTTP(httptest.NewRecorder(), request)
		}
		check.Is(t, len(b.watched.Report()), c.wrong, name)
	}
}
