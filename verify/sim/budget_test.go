package sim_test

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/verify/sim"
)

// steps is work of several requests, which an actor that is killed begins anew; or goes on with,
// where it keeps what it has done.
func steps(budget int, keeps bool) sim.Scenario {
	return sim.Scenario{Name: "steps", Budget: budget, New: func(r *sim.Run) sim.Model {
		c := &counter{}
		r.Daemon("worker", func(p *sim.Proc) {
			p.Invoke()
			done := 0
			if keeps {
				done = c.value
			}
			for ; done < 3; done++ {
				if write(p, func() { c.value = done + 1 }) != nil {
					return
				}
			}
		})
		return c
	}}
}

// A process that begins anew each time, and has too little time for all of it, never ends; one that
// goes on where it was does.
func TestABudget(t *testing.T) {
	for _, c := range []struct {
		budget         int
		keeps, endless bool
	}{{1, true, false}, {2, true, false}, {2, false, true}, {3, false, false}} {
		_, failure := steps(c.budget, c.keeps).Explore(nil)
		check.That(t, (failure != nil) == c.endless, "%d %v %v", c.budget, c.keeps, failure)
		if failure != nil && (!strings.Contains(failure.Error(), "no end") ||
			!strings.Contains(strings.Join(failure.Trace, "\n"), "time is up: dies")) {
			t.Errorf("failure %v, want one without end, and how it comes about", failure)
		}
		failure = steps(c.budget, c.keeps).Random(1)
		check.That(t, (failure != nil) == c.endless, "%d %v %v", c.budget, c.keeps, failure)
	}
}

// ended notes how a run ended.
type ended struct {
	nothing
	ways map[bool]bool
	dead bool
}

func (e *ended) Final() error {
	e.ways[e.dead] = true
	return nil
}

// An actor whose last request is granted is in another state than one that has none left, though
// both know the same.
func TestTheLastRequestIsNotNone(t *testing.T) {
	ways := map[bool]bool{}
	scenario := sim.Scenario{Name: "last", Faults: 1, Budget: 2, New: func(r *sim.Run) sim.Model {
		e := &ended{ways: ways}
		r.Go("actor", func(p *sim.Proc) {
			p.Invoke()
			fails := func(n int) bool {
				_, err := look(p, &n)
				return err != nil
			}
			if !fails(1) && !fails(2) {
				return
			}
			p.Forget()
			e.dead = fails(3)
		})
		return e
	}}
	_, failure := scenario.Explore(nil)
	check.That(t, failure == nil && len(ways) == 2, "%v, dead or not: %v", failure, ways)
}
