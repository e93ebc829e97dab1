package trackedsim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "tracked", Small: Small(), Large: Large(), Random: Shuffled}
}

// scenario makes a Scenario of a queue with messages, a consumer, and actors.
func scenario(name string, faults int, messages int64, actors func(*model)) sim.Scenario {
	return sim.Scenario{Name: name, Faults: faults, New: func(run *sim.Run) sim.Model {
		m := newModel(run)
		m.open(messages)
		actors(m)
		return m
	}}
}

// Ticks after which a claim's lease is over, and after which a chain is late.
const (
	overLease = lease + time.Second
	overTrack = track + time.Second
)

// all are the functions that deploy, and a worker.
func (m *model) all() {
	m.process("P", 0)
	m.ender("E")
	m.worker("W")
}

// Small are scenarios of which every schedule is walked in seconds.
func Small() []sim.Scenario {
	return []sim.Scenario{
		scenario("one message, 2 faults", 2, 1, (*model).all),
		scenario("two messages, one after the other, 1 fault", 1, 2, (*model).all),
		scenario("two messages in a batch, 1 fault", 1, 2, func(m *model) {
			m.batch = 2
			m.all()
		}),
		scenario("a tree of two levels, 1 fault", 1, 1, func(m *model) {
			m.depth = 2
			m.all()
		}),
		scenario("work that fails, 1 fault", 1, 1, func(m *model) {
			m.fails = 1
			m.all()
			m.clock(time.Second)
		}),
		scenario("a lease is over, 1 fault", 1, 1, func(m *model) {
			m.all()
			m.clock(overLease)
		}),
		scenario("two processes and a lease that is over", 0, 1, func(m *model) {
			m.records = append(m.records, 0)
			m.all()
			m.process("Q", 0)
			m.clock(overLease)
		}),
		scenario("a chain is late, 1 fault", 1, 1, func(m *model) {
			m.all()
			m.clock(overTrack)
		}),
		scenario("a chain is late, and another process looks", 0, 1, func(m *model) {
			m.records = append(m.records, 0)
			m.all()
			m.process("Q", 0)
			m.clock(overTrack)
		}),
		scenario("a chain is extended", 0, 1, func(m *model) {
			m.records = append(m.records, 0)
			m.all()
			m.extender(2 * track)
			m.clock(overLease, overTrack-overLease)
		}),
		scenario("clocks apart", 0, 1, func(m *model) {
			m.records = append(m.records, 0)
			m.all()
			m.process("Q", overLease)
		}),
		scenario("the sweep looks", 0, 1, func(m *model) {
			m.process("P", 0)
			m.worker("W")
			m.sweeper(1)
			m.clock(overLease)
		}),
		scenario("the sweep times out", 0, 1, func(m *model) {
			m.process("P", 0)
			m.ender("E")
			m.sweeper(1)
			m.clock(overTrack)
		}),
		scenario("stale reads", 1, 1, func(m *model) {
			m.tables.Stale()
			m.certain = true
			m.all()
			m.producer(2)
		}),
		scenario("work that fails, and stale reads", 1, 1, func(m *model) {
			m.tables.Stale()
			m.fails = 1
			m.all()
		}),
		// Without faults: a process that dies before it said so lets it be tried again.
		scenario("a message that is refused for good", 0, 1, func(m *model) {
			m.poison = true
			m.records = append(m.records, 0)
			m.all()
			m.clock(time.Second)
		}),
		scenario("the sink is away", 0, 2, func(m *model) {
			m.sinkAway(true)
			m.comesBack()
			m.records = append(m.records, 0)
			m.all()
			m.clock(overLease)
		}),
		scenario("the sink is away for longer", 0, 1, func(m *model) {
			m.sinkAway(true)
			m.records = append(m.records, 0, 0, 0, 0, 0) // it lets two probes pass before it makes one
			m.process("P", 0)
			m.clock(overLease, overLease)
		}),
		scenario("a message arrives meanwhile, 1 fault", 1, 1, func(m *model) {
			m.all()
			m.producer(2)
		}),
		scenario("the consumer is made anew", 1, 1, func(m *model) {
			m.all()
			m.remaker()
		}),
		scenario("the consumer is made anew after a failure", 0, 1, func(m *model) {
			m.fails = 1
			m.all()
			m.remaker()
			m.clock(time.Second)
		}),
	}
}

// Large are scenarios of which every schedule is walked in minutes.
func Large() []sim.Scenario {
	return []sim.Scenario{
		scenario("two processes and two leases that are over", 0, 1, func(m *model) {
			m.records = append(m.records, 0)
			m.all()
			m.process("Q", 0)
			m.clock(overLease, overLease)
		}),
		scenario("two processes, a lease that is over, 1 fault", 1, 1, func(m *model) {
			m.records = append(m.records, 0)
			m.all()
			m.process("Q", 0)
			m.clock(overLease)
		}),
		scenario("the sink is away, 1 fault", 1, 1, func(m *model) {
			m.sinkAway(true)
			m.comesBack()
			m.records = append(m.records, 0)
			m.all()
			m.clock(overLease)
		}),
		scenario("a chain is extended, 1 fault", 1, 1, func(m *model) {
			m.records = append(m.records, 0)
			m.all()
			m.extender(2 * track)
			m.clock(overLease, overTrack-overLease)
		}),
		scenario("all of it and the sweep", 0, 1, func(m *model) {
			m.all()
			m.sweeper(1)
			m.clock(overLease)
		}),
		scenario("two messages, a chain is late, 2 faults", 2, 2, func(m *model) {
			m.all()
			m.clock(overTrack)
		}),
	}
}

// Shuffled is the scenario of a seed: up to five messages, in batches, with trees
// of up to three levels, one or two of each function with clocks apart, work
// that fails, sweeps, time that passes, and up to six faults.
func Shuffled(seed uint64) sim.Scenario {
	faults := int(seed % 7)
	return sim.Scenario{
		Name:   fmt.Sprint("shuffled ", seed),
		Faults: faults,
		New: func(run *sim.Run) sim.Model {
			random := rand.New(rand.NewPCG(seed, 1))
			m := newModel(run)
			there := 1 + random.Int64N(3)
			m.open(there)
			m.depth, m.batch, m.fails = 1+random.IntN(3), 1+random.IntN(3), random.IntN(3)
			for i := range 1 + random.IntN(2) {
				skew := time.Duration(random.IntN(3)-1) * overLease * time.Duration(i)
				m.process(fmt.Sprint("process ", i), skew)
			}
			for i := range 1 + random.IntN(2) {
				m.ender(fmt.Sprint("ender ", i))
			}
			for i := range 1 + random.IntN(2) {
				m.worker(fmt.Sprint("worker ", i))
			}
			if random.IntN(2) == 0 {
				m.sweeper(1 + random.IntN(3))
			}
			if random.IntN(4) == 0 {
				m.extender(time.Duration(1+random.IntN(3)) * track)
			}
			if random.IntN(4) == 0 {
				m.remaker()
			}
			var steps []time.Duration
			for range random.IntN(5) {
				steps = append(steps, []time.Duration{time.Second, overLease, overTrack}[random.IntN(3)])
			}
			if random.IntN(5) == 0 {
				m.sinkAway(false)
				m.comesBack()
			}
			m.clock(steps...)
			var later []int64
			for i := range random.Int64N(3) {
				later = append(later, there+1+i)
			}
			m.producer(later...)
			return m
		},
	}
}
