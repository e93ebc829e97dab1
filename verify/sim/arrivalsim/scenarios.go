package arrivalsim

import (
	"fmt"
	"math/rand/v2"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "arrival", Small: Small(), Large: Large(), Random: Shuffled}
}

// nearly is how many entries a tail has that the next allocation takes to where it
// is flushed.
const nearly = queuelog.OrderItemEntries - 1

// scenario makes a Scenario of a set of actors on a queue with so many entries.
func scenario(name string, faults, entries int, actors func(*model)) sim.Scenario {
	made := crowds{}
	return sim.Scenario{Name: name, Faults: faults, New: func(run *sim.Run) sim.Model {
		m := newModel(run, made)
		if entries >= 0 {
			m.create(entries)
		}
		actors(m)
		return m
	}}
}

// retention is short, for scenarios in which things expire.
const retention = cursor.MinRetention

// Small are scenarios of which every schedule is walked in seconds.
func Small() []sim.Scenario {
	return append(expected(), []sim.Scenario{
		scenario("a new queue", 1, -1, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("b")...)
		}),
		scenario("one message from two producers", 2, 0, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("a")...)
		}),
		scenario("two messages under one id", 1, 0, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", call{one("a", "other", 1)})
		}),
		scenario("groups that share a message", 1, 0, func(m *model) {
			m.producer("A", call{one("a", "", 1), one("b", "", 2)})
			m.producer("B", call{one("b", "", 2), one("c", "", 1)})
		}),
		scenario("two flush", 2, nearly-1, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("b")...)
		}),
		scenario("full", 1, queuelog.MaxTail-1, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("b")...)
		}),
		scenario("a lost allocation goes into an order item", 1, nearly, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("b", "c")...)
			m.others(1, nearly-1)
		}),
		scenario("a repeat after its order item", 1, nearly, func(m *model) {
			m.producer("A", calls("a", "b")...)
			m.producer("B", calls("a")...)
			m.others(1, nearly-1)
		}),
		scenario("a lost allocation leaves the prints", 1, 0, func(m *model) {
			m.producer("A", calls("a")...)
			m.turnover(3)
		}),
		scenario("read while it is flushed", 1, nearly, func(m *model) {
			m.producer("A", calls("a")...)
			m.reader(1)
		}),
		scenario("read two order items", 1, queuelog.OrderItemEntries, func(m *model) {
			m.flushed()
			m.crowd("more", queuelog.OrderItemEntries)
			m.flushed()
			m.producer("A", calls("a")...)
			m.reader(1)
		}),
		scenario("read what came together", 1, 0, func(m *model) {
			m.producer("A", call{one("a", "", 2)}, call{one("b", "", 1)})
			m.reader(2)
		}),
		scenarioKept("an id is used again after it has expired", 0, 0, func(m *model) {
			m.producer("A", call{one("a", "", 1)}, call{one("a", "later", 1)}, call{one("a", "later", 1)})
			m.reader(2)
			m.keeper(5, retention/4)
		}),
		scenarioKept("a repeat shortly before it expires", 1, 0, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("a")...)
			m.keeper(5, retention/4)
		}),
		keptInAnOrderItem(0),
	}...)
}

func keptInAnOrderItem(faults int) sim.Scenario {
	return scenarioKept(fmt.Sprintf("kept in an order item, %d faults", faults), faults, nearly-1, func(m *model) {
		m.early("a")
		m.producer("A", calls("b", "a")...)
		m.keeper(5, retention/4)
	})
}

func scenarioKept(name string, faults, entries int, actors func(*model)) sim.Scenario {
	made := crowds{}
	return sim.Scenario{Name: name, Faults: faults, New: func(run *sim.Run) sim.Model {
		m := newModel(run, made)
		m.keep = retention
		m.create(entries)
		actors(m)
		return m
	}}
}

// Large are scenarios of which every schedule is walked in minutes.
func Large() []sim.Scenario {
	return append(expectedLarge(), []sim.Scenario{
		keptInAnOrderItem(1),
		scenario("three producers, 2 faults", 2, 0, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("b")...)
			m.producer("C", calls("a")...)
		}),
		scenario("three flush, 2 faults", 2, nearly-1, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("b")...)
			m.producer("C", calls("c")...)
		}),
		scenario("a lost allocation goes into an order item, 2 faults", 2, nearly, func(m *model) {
			m.producer("A", calls("a")...)
			m.producer("B", calls("b", "c")...)
			m.others(1, nearly-1)
			m.reader(1)
		}),
	}...)
}

// Shuffled is the scenario of a seed: up to four producers that append up to a
// dozen arrivals, some twice, some in groups, some of several messages, some
// under the same id with another payload, in one of three beside batches that say
// their seqs, beside others, a reader, time that passes, and up to six faults.
func Shuffled(seed uint64) sim.Scenario {
	made := crowds{}
	return sim.Scenario{
		Name:   fmt.Sprint("shuffled ", seed),
		Faults: int(seed % 7),
		New: func(run *sim.Run) sim.Model {
			random := rand.New(rand.NewPCG(seed, 1))
			m := newModel(run, made)
			if random.IntN(3) == 0 {
				m.keep = retention
			}
			entries := []int{0, 10, nearly - 3, nearly, queuelog.MaxTail - 2}[random.IntN(5)]
			m.create(entries)
			if seed%3 == 1 {
				m.shuffledExpecting(random, entries)
			}
			producers := 1 + random.IntN(4)
			share := make([][]call, producers)
			for range 2 + random.IntN(8) {
				c := call{}
				for range 1 + random.IntN(3)/2*random.IntN(3) {
					id := fmt.Sprint("id", random.IntN(8))
					payload := ""
					if random.IntN(12) == 0 {
						payload = "other"
					}
					a := one(id, payload, 1+random.IntN(7)/6)
					if !c.has(id) {
						c = append(c, a)
					}
				}
				w := random.IntN(producers)
				share[w] = append(share[w], c)
			}
			for i, own := range share {
				m.producer(fmt.Sprintf("producer %d", i), own...)
			}
			if random.IntN(3) > 0 {
				m.others(1+random.IntN(3), 5+random.IntN(20))
			}
			if random.IntN(4) == 0 {
				m.turnover(1 + random.IntN(3))
			}
			if random.IntN(2) == 0 {
				m.reader(1 + random.IntN(3))
			}
			if m.keep > 0 {
				m.keeper(1+random.IntN(6), retention/4)
			}
			return m
		},
	}
}

func (c call) has(id string) bool {
	for _, a := range c {
		if a.id == id {
			return true
		}
	}
	return false
}
