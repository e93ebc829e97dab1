package xoracksim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// The least requests with which an invocation makes progress.
const (
	// finishBudget: an end is announced, carried to its parent, and sealed.
	finishBudget = 3
	// fanBudget: the chain above, a chain for each of two parts, and the end of the edge.
	fanBudget = 4
	// sweepBudget: what is due, a chain, its end, its announcement, its row and its seal.
	sweepBudget = 6
)

// budgets are scenarios of invocations that are killed after so many requests, the least with which
// they make progress, or a few more: each comes to its end.
func budgets() []sim.Scenario {
	var all []sim.Scenario
	under := func(name string, least int, actors ...func(*model)) {
		for budget := least; budget < least+3; budget++ {
			s := scenario(fmt.Sprintf("%s, %d requests", name, budget), 1, actors...)
			s.Budget = budget
			all = append(all, s)
		}
	}
	under("nested", finishBudget, nested, both, handler)
	under("fan", fanBudget, fan, handler)
	under("time-outs", sweepBudget, func(m *model) {
		for _, tag := range []string{"t", "u"} {
			m.create(m.newTree(tag, xorack.CreateOptions{Deadline: time.Minute}), false)
		}
		m.Ticks(time.Minute)
		m.sweepUntilDone()
	})
	return all
}

// sweepUntilDone runs the sweep for as long as a chain is late.
func (m *model) sweepUntilDone() {
	late := func() bool {
		for _, t := range m.trees {
			if c := m.chain(t.tag); c.IsCreated() && !c.Sealed() && !c.Deadline.After(m.Now) {
				return true
			}
		}
		return false
	}
	m.Serves("sweep", sim.Labelf("next run"), late, func(p *sim.Proc) func(int) {
		a := m.acker(p)
		return func(int) {
			p.Invoke()
			if _, err := a.Sweep(context.Background(), m.listed(p)); err != nil && !p.Dead() {
				_ = m.failed(err)
			}
		}
	}, "")
}
