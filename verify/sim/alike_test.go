package sim_test

import (
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/verify/sim"
)

// queue is a lock that three actors take in turns.
type queue struct {
	held  int
	turns []int
	alike bool
}

func (q *queue) Check() error {
	if q.held > 1 {
		return fmt.Errorf("%d hold it", q.held)
	}
	return nil
}

func (q *queue) Final() error { return nil }

func (q *queue) Snapshot(d *sim.Digest) {
	d.Int(int64(q.held))
	d.Int(int64(len(q.turns)))
	for _, who := range q.turns {
		if !q.alike {
			d.Int(int64(who))
		}
	}
}

// turns has three actors that take the lock, one after the other; if odd, the third takes it
// without a look.
func turns(alike, odd bool) sim.Scenario {
	return sim.Scenario{Name: "turns", New: func(r *sim.Run) sim.Model {
		q := &queue{alike: alike}
		for i := range 3 {
			r.Go(fmt.Sprint("actor ", i), func(p *sim.Proc) {
				if alike {
					p.Alike(func(d *sim.Digest) {
						d.Bool(odd && i == 2)
						for turn, who := range q.turns {
							if who == i {
								d.Int(int64(turn))
							}
						}
					})
				}
				for range 2 {
					ready := func() bool { return q.held == 0 || odd && i == 2 }
					if p.Choose(sim.Labelf("take"), ready, "") < 0 {
						return
					}
					q.held++
					q.turns = append(q.turns, i)
					if p.Choose(sim.Labelf("give back"), nil, "") < 0 {
						return
					}
					q.held--
				}
			})
		}
		return q
	}}
}

// TestAlike: actors that may change places make fewer states, and what must not be is found all the
// same, also where only one of them can do it.
func TestAlike(t *testing.T) {
	all, failure := turns(false, false).Explore(nil)
	check.Need(t, failure == nil, "%v", failure)
	fewer, failure := turns(true, false).Explore(nil)
	check.Need(t, failure == nil, "%v", failure)
	check.That(t, fewer*3 <= all, "%d %d", all, fewer)
	for _, alike := range []bool{false, true} {
		_, failure := turns(alike, true).Explore(nil)
		check.That(t, failure != nil, "alike %v: no failure found", alike)
	}
}
