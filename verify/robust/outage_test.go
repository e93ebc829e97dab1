package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestSchedule: what the template's consumer is replaced by is within the bounds.
func TestSchedule(t *testing.T) {
	all, err := consumers.Read([]byte(shortened(120).consumers("f")), os.LookupEnv)
	check.That(t, err == nil && all[0].Reader.BlockAfter == 30*time.Second &&
		len(all[0].Reader.Circuit.Probes) == 4 && all[0].HasSink(), "%+v, %v", all, err)
	delays := []time.Duration{time.Second, 3 * time.Second}
	for in, want := range map[time.Duration]int{0: 0, time.Second - 1: 0, time.Second: 1,
		4 * time.Second: 2, 9 * time.Second: 3, 10 * time.Second: 4} {
		check.Is(t, fit(in, delays), want, in)
	}
}

// TestLambdaSink: what it takes is watched; it takes nothing while it is away, and never what is
// poisoned.
func TestLambdaSink(t *testing.T) {
	w := check.Get(newWorld(values{}, t.Output()))
	for _, m := range twoOfEach(10) {
		w.Account.Note(m)
	}
	s := &lambdaSink{watched: w.Watch("lambda", traffic.Unfailing, notPoisoned),
		poison: isPoison}
	s.away.Store(true)
	call := func(queue, text string) (failed bool) {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/",
			strings.NewReader(`{"queue":"`+queue+`","tokenN":1,`+text+`}`)))
		return answer.Header().Get("X-Amz-Function-Error") != ""
	}
	calls := func() int { calls, _ := s.seen(); return len(calls) }
	const first = `"from":0,"to":1,"messages":[{"seq":1,"body":{"queue":0,"n":1}}]`
	check.That(t, call("shop/0", first) && calls() == 1, "it took something while it was away")
	s.away.Store(false)
	check.That(t, !call("shop/0", first), "it took nothing when it was back")
	state := s.watched.State()
	check.That(t, state.Messages == 1 && state.Violations == 0, "%+v: %q", state, s.watched.Report())
	check.That(t, call(outagePoison, `"from":0,"to":2,"messages":[]`) &&
		call(outagePoison, `"from":1,"to":2,"messages":[]`), "it took the poison")
	_, refused := s.seen()
	check.That(t, refused == 2 && calls() == 1, "%d %d", refused, calls())
}

// TestOutageSeesWhatIsWrong: a check that never fails checks nothing.
func TestOutageSeesWhatIsWrong(t *testing.T) {
	opened := time.Unix(1e9, 0)
	for says, change := range map[string]func(*outageResult){
		"":              func(*outageResult) {},
		"blocked 1":     func(r *outageResult) { r.blockedAway = []string{"shop/1"} },
		"0 queues are":  func(r *outageResult) { r.blocked = nil },
		"2 queues are":  func(r *outageResult) { r.blocked = append(r.blocked, "shop/1") },
		"did not open":  func(r *outageResult) { r.circuit.opened = time.Time{} },
		"closed":        func(r *outageResult) { r.circuit.again = true },
		"no probe":      func(r *outageResult) { r.circuit.probes, r.calls = 0, nil },
		"4 probes in 3": func(r *outageResult) { r.circuit.probes = 4 },
		"21 calls in": func(r *outageResult) {
			for range 18 {
				r.calls = append(r.calls, opened.Add(time.Second))
			}
		},
		"3 calls while": func(r *outageResult) { r.calls = append(r.calls, opened.Add(time.Minute)) },
	} {
		r := outageResult{
			queues: 10, tries: 2, intervals: 3, blocked: []string{outagePoison},
			circuit: circuit{opened: opened, probes: 2},
			calls: []time.Time{
				opened.Add(-time.Second), opened.Add(toldAfter), opened.Add(toldAfter), opened.Add(toldAfter),
				opened.Add(toldAfter + 1), opened.Add(time.Minute),
			},
		}
		change(&r)
		w := check.Get(newWorld(values{}, t.Output()))
		r.check(w)
		said := strings.Join(w.Wrong, "\n")
		check.That(t, said != "" == (says != "") && strings.Contains(said, says), "%q: %q", says, said)
	}
}

// TestCheckSeesWhatIsWrong: a check that never fails checks nothing.
func TestCheckSeesWhatIsWrong(t *testing.T) {
	type seen struct {
		tree
		counts map[string]int
	}
	for name, spoil := range map[string]func(*seen){
		"":                    func(*seen) {},
		" again":              func(s *seen) { s.steps = append(s.steps, s.steps[1]) },
		"failed":              func(s *seen) { s.ends[0].Outcome = "FAILED" },
		"an edge too few":     func(s *seen) { s.ends[0].Edges, s.ends[0].Ended = 5, 5 },
		"an edge is open":     func(s *seen) { s.ends[0].Ended = 5 },
		"another id":          func(s *seen) { s.ends[1].ID = "y" },
		"no id":               func(s *seen) { s.ends[0].ID, s.ends[1].ID = "", "" },
		"no end":              func(s *seen) { s.ends = nil },
		"nobody ended it":     func(s *seen) { s.steps = s.steps[:1] },
		"two ended it":        func(s *seen) { s.steps = append(s.steps, step{Edge: "other", Outcome: "ended", N: "0"}) },
		"n is not 0":          func(s *seen) { s.steps[1].N = "3" },
		"counted twice":       func(s *seen) { s.counts["a"]++ },
		"not counted":         func(s *seen) { delete(s.counts, "a") },
		"counted too much":    func(s *seen) { s.counts["b"] = 1 },
		"it failed once":      func(s *seen) { s.failed = s.failed[:1] },
		"it failed too often": func(s *seen) { s.failed = append(s.failed, s.failed[0]) },
	} {
		s := seen{tree{
			steps: []step{{Kind: "file", Name: "f", Outcome: "applied", N: "7"},
				{Kind: "word", Name: "wolf", Outcome: "ended", N: "0"}},
			failed: []step{{Name: "wolf", Attempt: 1}, {Name: "wolf", Attempt: 2}},
			ends: []step{{Outcome: "DONE", Edges: 6, Ended: 6, ID: "x"},
				{Outcome: "DONE", Edges: 6, Ended: 6, ID: "x"}},
		}, map[string]int{"a": 2, "wolf": 2}}
		spoil(&s)
		err := s.check(database{{"f", "A wolf, a wolf"}}, s.counts)
		check.That(t, (err == nil) == (name == "" || name == " again"), "%q: %v", name, err)
	}
}

// TestCreated: the first creation of each chain counts.
func TestCreated(t *testing.T) {
	log := &treeLog{lines: []step{{Kind: "create", Tag: "b"}, {Kind: "word", Tag: "a"},
		{Kind: "create", Tag: "a"}, {Kind: "create", Tag: "b"}}}
	check.That(t, slices.Equal(log.created(), []string{"b", "a"}), "%q", log.created())
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
