package actssim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "acts", Small: Small(), Large: Large(), Random: Shuffled}
}

// redrive is what is asked for, pages of so many at a time.
func redrive(rate int) acts.Ask {
	return acts.Ask{Action: handoff.OpRedrive, State: trouble.Blocked, Rate: rate}
}

func scenario(name string, faults, queues int, ask acts.Ask, actors func(*model)) sim.Scenario {
	return sim.Scenario{Name: name, Faults: faults, New: func(run *sim.Run) sim.Model {
		m := newModel(run, queues, ask)
		actors(m)
		return m
	}}
}

// Small are scenarios of which every schedule is walked in seconds.
func Small() []sim.Scenario {
	return []sim.Scenario{
		scenario("a sweep, 1 fault", 1, 2, redrive(1), func(m *model) {
			m.started()
			m.sweep()
			m.clock(overLease)
		}),
		scenario("a sweep and a wake-up", 0, 1, redrive(1), func(m *model) {
			m.started()
			m.sweep()
			m.timer()
		}),
		scenario("a lease that is over", 0, 1, redrive(1), func(m *model) {
			m.started()
			m.overtaken()
		}),
		scenario("looked at and started, 1 fault", 1, 1, redrive(1), func(m *model) {
			m.starter()
			m.sweep()
		}),
		scenario("stopped", 0, 2, redrive(1), func(m *model) {
			m.started()
			m.sweep()
			m.stopper()
		}),
		scenario("one leaves and comes again, another comes", 0, 2, redrive(1), func(m *model) {
			m.started()
			m.timer()
			m.helper("b", true)
			m.breaker()
		}),
	}
}

// Large are scenarios of which every schedule is walked in minutes.
func Large() []sim.Scenario {
	return []sim.Scenario{
		scenario("a sweep, 2 faults", 2, 2, redrive(1), func(m *model) {
			m.started()
			m.sweep()
			m.clock(overLease)
		}),
		scenario("stopped, 1 fault", 1, 2, redrive(1), func(m *model) {
			m.started()
			m.sweep()
			m.stopper()
		}),
		scenario("a sweep and a wake-up, and a lease that is over, 2 pages", 0, 2, redrive(1), func(m *model) {
			m.started()
			m.sweep()
			m.timer()
			m.clock(overLease)
		}),
		scenario("a sweep and a wake-up, and a lease that is over, 1 fault", 1, 1, redrive(1), func(m *model) {
			m.started()
			m.sweep()
			m.timer()
			m.clock(overLease)
		}),
	}
}

// actions are those that a batch does to consumers that are blocked.
var actions = []string{handoff.OpRedrive, handoff.OpSkip, handoff.OpPause, handoff.OpRewind}

// Shuffled is the scenario of a seed: up to five consumers, in pages of up to three, carried out by one or
// two, with all that may come in between.
func Shuffled(seed uint64) sim.Scenario {
	return sim.Scenario{
		Name: fmt.Sprint("shuffled ", seed), Faults: int(seed % 5),
		New: func(run *sim.Run) sim.Model {
			random := rand.New(rand.NewPCG(seed, 1))
			ask := redrive(1 + random.IntN(3))
			if ask.Action = actions[random.IntN(len(actions))]; ask.Action == handoff.OpRewind {
				ask.Start = "first"
			}
			m := newModel(run, 1+random.IntN(5), ask)
			if random.IntN(3) == 0 {
				m.starter()
			} else {
				m.started()
			}
			m.sweep()
			if random.IntN(3) > 0 {
				m.timer()
			}
			if random.IntN(3) == 0 {
				m.stopper()
			}
			if ask.Action != handoff.OpPause && random.IntN(2) == 0 { // to pause and to help are the same in either order
				m.helper(m.queues[random.IntN(len(m.queues))], random.IntN(2) == 0)
			}
			if random.IntN(2) == 0 {
				m.breaker()
			}
			if random.IntN(3) == 0 {
				m.strays = true
				run.Network()
			}
			var steps []time.Duration
			for range random.IntN(4) {
				steps = append(steps, []time.Duration{time.Second, aTurn, overLease}[random.IntN(3)])
			}
			m.clock(steps...)
			return m
		},
	}
}
