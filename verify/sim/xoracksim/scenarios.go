package xoracksim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "xorack", Small: Small(), Large: Large(), Random: Shuffled}
}

func scenario(name string, faults int, actors func(*model)) sim.Scenario {
	return sim.Cast(name, faults, newModel, actors)
}

// four is a tree of four edges: a root with two children, one of which has a child.
func (m *model) four(tag string, options xorack.CreateOptions) *tree {
	t := m.newTree(tag, options)
	m.split(m.split(t.roots[0], 2)[0], 1)
	return t
}

// two is a tree of a root and a child.
func (m *model) two(tag string, options xorack.CreateOptions) *tree {
	t := m.newTree(tag, options)
	m.split(t.roots[0], 1)
	return t
}

// twoAndInner is such a tree, and a chain that is the work of its child.
func (m *model) twoAndInner() (t, inner *tree) {
	t = m.two("t", xorack.CreateOptions{})
	return t, m.nest(t.roots[0].children[0], "u")
}

// work creates a tree, its roots passed on before that where early is true, and does its work once
// for each message.
func (m *model) work(t *tree, early bool) {
	m.create(t, early)
	m.workers(t)
}

// retried is work whose messages may come again, at any time, with the stream's handler.
func (m *model) retried(t *tree, early bool) {
	m.work(t, early)
	m.redelivery(t)
	m.handler()
}

// Small are scenarios of which every schedule is walked in seconds.
func Small() []sim.Scenario {
	return append(budgets(), []sim.Scenario{
		// As many work at once as there are messages: three, and a fourth where one comes twice.
		scenario("four edges", 2, func(m *model) {
			t := m.four("t", xorack.CreateOptions{})
			m.retried(t, false)
		}),
		scenario("create last", 2, func(m *model) {
			t := m.two("t", xorack.CreateOptions{})
			m.work(t, true)
			m.handler()
		}),
		scenario("messages first", 2, func(m *model) {
			t := m.two("t", xorack.CreateOptions{})
			t.roots[0].emitsFirst = true
			m.retried(t, true)
		}),
		scenario("two roots", 2, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{Edges: 2})
			m.retried(t, true)
		}),
		scenario("an edge fails", 2, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{})
			m.split(t.roots[0], 2)[0].fail()
			m.retried(t, false)
		}),
		scenario("fails, or is done", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{})
			m.work(t, true)
			m.contrary(t.roots[0].children[0])
			m.handler()
		}),
		scenario("add", 2, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{})
			m.split(t.roots[0], 2)
			t.roots[0].add(1)
			m.retried(t, false)
		}),
		scenario("merge", 2, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{})
			children := m.split(t.roots[0], 3)
			m.create(t, false)
			m.worker(t.roots[0])
			m.merger(children...)
			m.merger(children[1], children[2])
			m.handler()
		}),
		scenario("time-out", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{Deadline: 2 * time.Minute})
			m.work(t, false)
			m.clock(2, time.Minute)
			m.sweeper(1)
			m.handler()
		}),
		scenario("time-out by the timer", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{Deadline: 2 * time.Minute})
			m.work(t, false)
			m.clock(2, time.Minute)
			m.timer("t", "nobody", "t")
			m.handler()
		}),
		scenario("the timer alone", 0, func(m *model) {
			m.alarms = sim.Alarms{}
			t := m.two("t", xorack.CreateOptions{Deadline: 3 * time.Minute, Idle: 2 * time.Minute})
			t.mayFail = true // half of its work is never done
			m.create(t, false)
			m.worker(t.roots[0])
			m.extender(t, 4*time.Minute)
			m.timer("t")
			m.clock(2, time.Minute)
			m.handler()
		}),
		scenario("no progress, and the timer", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{Idle: 2 * time.Minute})
			m.work(t, false)
			m.clock(2, time.Minute)
			m.timer("t")
			m.handler()
		}),
		scenario("no progress", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{Idle: 2 * time.Minute})
			m.work(t, false)
			m.clock(2, time.Minute)
			m.sweeper(1)
		}),
		scenario("a first copy comes late", 1, func(m *model) {
			m.Run.Network()
			t := m.newTree("t", xorack.CreateOptions{})
			m.split(t.roots[0], 2)[0].fail()
			m.work(t, false)
			m.handler()
		}),
		scenario("stale reads", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{Deadline: 2 * time.Minute})
			m.past = past.Of(m.Tables)
			m.work(t, false)
			m.extender(t, 3*time.Minute)
			m.clock(1, 2*time.Minute)
			m.sweeper(1)
			m.handler()
		}),
		scenario("extended", 1, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{Deadline: 2 * time.Minute})
			m.create(t, false)
			m.extender(t, 2*time.Minute)
			m.extender(t, 3*time.Minute)
			m.clock(2, time.Minute)
			m.sweeper(1)
		}),
		scenario("deleted", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{})
			m.work(t, true)
			m.deleter(t)
			m.handler()
		}),
		scenario("nested", 2, func(m *model) {
			t, inner := m.twoAndInner()
			m.create(t, false)
			m.workers(t, inner)
			m.redelivery(t, inner)
			m.handler()
		}),
		scenario("nested fails", 1, func(m *model) {
			t, inner := m.twoAndInner()
			inner.roots[0].fail()
			m.create(t, false)
			m.workers(t, inner)
			m.handler()
			m.sweeper(1)
		}),
		scenario("fan", 2, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{})
			m.fanOut(t.roots[0], xorack.FanWidth+1)
			m.create(t, false)
			m.worker(t.roots[0])
			for _, child := range t.roots[0].children {
				m.merger(child.nested.nodes...)
			}
			m.handler()
		}),
		scenario("expiry", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{Deadline: 10 * time.Minute})
			m.retried(t, false)
			m.clock(1, xorack.MinTombstone/2)
			m.ttl(1)
		}),
		scenario("no expiry while it is open", 1, func(m *model) {
			t := m.two("t", xorack.CreateOptions{})
			m.work(t, false)
			m.clock(1, 2*xorack.MinTombstone)
			m.ttl(1)
		}),
		scenario("tag used again", 2, func(m *model) {
			first := m.newTree("t", xorack.CreateOptions{ID: "1"})
			second := m.newTree("t", xorack.CreateOptions{ID: "2"})
			first.stranger, second.stranger = true, true
			m.work(first, false)
			m.handler()
			m.expiry()
			m.successor(second)
			m.late(first)
		}),
		scenario("two for one tag", 1, func(m *model) {
			first := m.newTree("t", xorack.CreateOptions{ID: "1"})
			second := m.newTree("t", xorack.CreateOptions{ID: "2"})
			first.stranger, second.stranger = true, true
			m.create(first, true)
			m.create(second, false)
			m.workers(first, second)
		}),
		scenario("stamps", 2, func(m *model) {
			m.stamped["t"] = []string{"\x01", "\x07", "\x02", "\x04"}
			for i := range m.stamped["t"] {
				m.stamper("t", i)
			}
			m.handler()
		}),
		scenario("stamps, and nobody comes again", 2, func(m *model) {
			m.stamped["t"] = []string{"\x01", "\x03", "\x02"}
			m.stamper("t", 0)
			m.stampOnce("t", 1)
			m.stampOnce("t", 2)
			m.handler()
		}),
		scenario("stamps that are zero too early", 1, func(m *model) {
			m.stamped["t"] = []string{"\x01", "\x01", "\x02", "\x02"}
			for i := range m.stamped["t"] {
				m.stamper("t", i)
			}
			m.handler()
		}),
	}...)
}

// Large are scenarios of which every schedule is walked in minutes.
func Large() []sim.Scenario {
	return []sim.Scenario{
		scenario("four edges, created last, with a sweep, 2 faults", 2, func(m *model) {
			t := m.four("t", xorack.CreateOptions{Deadline: 20 * time.Minute})
			m.work(t, true)
			m.handler()
			m.clock(1, 20*time.Minute)
			m.sweeper(1)
		}),
		scenario("four edges, 4 faults", 4, func(m *model) {
			t := m.four("t", xorack.CreateOptions{})
			m.retried(t, true)
		}),
		scenario("nested, 3 faults", 3, func(m *model) {
			t, inner := m.twoAndInner()
			m.create(t, false)
			m.workers(t, inner)
			m.redelivery(t, inner)
			m.handler()
			m.sweeper(1)
		}),
	}
}

// Shuffled is the scenario of a seed: a random tree of at most 40 edges and 5 levels, created first
// or last, whose handlers pass on before or after they say so, with chains nested in it, failures,
// redelivered messages, time that passes, and up to six faults.
func Shuffled(seed uint64) sim.Scenario {
	return sim.Scenario{
		Name:   fmt.Sprint("shuffled ", seed),
		Faults: int(seed % 7),
		New: func(run *sim.Run) sim.Model {
			random := rand.New(rand.NewPCG(seed, 1))
			m := newModel(run)
			options := xorack.CreateOptions{Edges: 1 + random.IntN(2)}
			if random.IntN(4) == 0 {
				options.Deadline = time.Duration(1+random.IntN(4)) * time.Minute
			}
			if random.IntN(4) == 0 {
				options.Idle = time.Duration(1+random.IntN(3)) * time.Minute
			}
			t := m.newTree("t", options)
			left := 40 - len(t.roots)
			for _, root := range t.roots {
				m.grow(random, root, 4, &left)
			}
			trees := []*tree{t}
			for range random.IntN(3) {
				at := t.nodes[random.IntN(len(t.nodes))]
				if len(at.children) > 0 || at.nested != nil {
					continue
				}
				inner := m.nest(at, fmt.Sprint("u", len(trees)))
				few := 5
				m.grow(random, inner.roots[0], 2, &few)
				trees = append(trees, inner)
			}
			if random.IntN(5) == 0 {
				of := trees[random.IntN(len(trees))]
				if n := of.nodes[random.IntN(len(of.nodes))]; n.nested == nil {
					n.fail()
				}
			}
			m.create(t, random.IntN(2) == 0)
			m.workers(trees...)
			m.redelivery(trees[:1]...)
			if random.IntN(4) > 0 {
				m.handler()
			}
			if random.IntN(2) == 0 {
				m.sweeper(2)
				m.clock(4, time.Minute)
			}
			if random.IntN(3) == 0 {
				m.timer("t", "t")
			}
			switch random.IntN(8) {
			case 0:
				m.deleter(t)
			case 2:
				m.extender(t, 3*time.Minute)
			}
			return m
		},
	}
}
