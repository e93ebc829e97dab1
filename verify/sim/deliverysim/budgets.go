package deliverysim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
)

// retireBudget is the least requests with which a sweep that deletes two messages makes progress.
const retireBudget = 5

// claimBudget is that of a process which ends behind its claim, and hands nothing over.
const claimBudget = 3

// budgets are scenarios of processes that are killed between two writes, and of sweeps that are
// killed after so many requests, the least with which they make progress, or a few more: what there
// is to do is done in the end.
func budgets() []sim.Scenario {
	var all []sim.Scenario
	for budget := retireBudget; budget < retireBudget+3; budget++ {
		s := scenario(fmt.Sprintf("deleted, %d requests", budget), 1, 2,
			(*model).caughtUp, (*model).sweepUntilRetired,
			slowClock(1, cursor.DeleteAfter))
		s.Budget = budget
		all = append(all, s)
	}
	for budget := claimBudget; budget < claimBudget+3; budget++ {
		s := scenario(fmt.Sprintf("delivered, %d requests", budget), 0, 2,
			func(m *model) { m.certain, m.bound.MaxMessages = false, 1 }, (*model).hinted,
			process("P", "Q"), clock(1))
		s.Budget = budget
		all = append(all, s)
	}
	return all
}

// sweepUntilRetired runs the sweep for as long as what is delivered, two messages, is not deleted
// though it is time for that.
func (m *model) sweepUntilRetired() {
	const last = 2
	open := func() bool {
		c := m.cursor(defaultQueue)
		_, stored := m.message(defaultQueue, last)
		return c.Floor < last || stored && m.Now.Sub(c.FloorSince) >= cursor.DeleteAfter
	}
	m.Serves("sweep", sim.Labelf("next run"), open, func(p *sim.Proc) func(int) {
		d := m.deliverer(p)
		return func(int) {
			p.Invoke()
			_, _ = d.Sweep(context.Background(), delivery.SweepOptions{
				Sorter:      cursor.SweepOptions{Segments: 1, FullEvery: time.Minute},
				MaxAttempts: attempts, Delete: true,
			})
		}
	}, "")
}
