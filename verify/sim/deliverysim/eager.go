package deliverysim

import (
	"context"
	"slices"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/verify/sim"
)

// eagerly calls process beside the stream, each call at any moment and with what somebody once said
// that the queue has reached: it is late, comes twice, is wrong, or of a queue that nobody knows.
func (m *model) eagerly(name, queue string, positions ...int64) {
	m.Turns(name, len(positions), sim.Labelf("call at once for one of %v", positions), nil,
		func(p *sim.Proc) func(int) {
			d := m.deliverer(p)
			return func(i int) {
				moved := map[string]int64{queue: positions[i]}
				d.Inside(request.Inside{}).DeliverMoved(context.Background(), moved,
					m.reader(p, defaultConsumer, m.beside))
			}
		})
}

func eager() []sim.Scenario {
	eager := func(name string, faults int, messages int64, actors ...func(*model)) sim.Scenario {
		begins := func(m *model) { m.bound.Eager = true }
		return scenario(name, faults, messages, slices.Insert(actors, 0, begins)...)
	}
	return []sim.Scenario{
		eager("calls at once, right, late and wrong, 1 fault", 1, 1,
			process("P"), func(m *model) { m.eagerly("E", defaultQueue, 1, 9) }),
		eager("two calls at once, 1 fault", 1, 0, producer(1), process("P"), func(m *model) {
			m.eagerly("E", defaultQueue, 1)
			m.eagerly("F", defaultQueue, 1)
		}),
		eager("a call at once and the timer alone, 1 fault", 1, 0,
			timed, producer(1), process("P"), func(m *model) { m.eagerly("E", defaultQueue, 1) },
			clock(1)),
		eager("a call at once for a queue that nobody knows", 0, 0,
			producer(1), process("P"), func(m *model) { m.eagerly("E", "nobody", 1) }),
	}
}
