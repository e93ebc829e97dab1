package xoracksim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "xorack", Small: small(), Large: large(), Random: shuffled}
}

func scenario(name string, faults int, actors ...func(*model)) sim.Scenario {
	return sim.Cast(name, faults, newModel, actors...)
}

// work creates a tree, its roots passed on before that where early is true, and does its work once
// for each message.
func (m *model) work(t *tree, early bool) {
	m.create(t, early)
	m.workers(t)
}

// What follows joins a scenario: a tree first, and what happens to the first tree.

// four is a tree of four edges: a root with two children, one of which has a child.
func four(o xorack.CreateOptions) func(*model) {
	return func(m *model) { m.split(m.split(m.newTree("t", o).roots[0], 2)[0], 1) }
}

// two is a tree of a root and a child.
func two(o xorack.CreateOptions) func(*model) {
	return func(m *model) { m.split(m.newTree("t", o).roots[0], 1) }
}

func root(o xorack.CreateOptions) func(*model) { return func(m *model) { m.newTree("t", o) } }

// failing is a tree one of whose two children fails.
func failing(m *model) { m.split(m.newTree("t", xorack.CreateOptions{}).roots[0], 2)[0].fail() }

func work(m *model) { m.work(m.trees[0], false) }

// early is work whose roots are passed on before the chain is created.
func early(m *model) { m.work(m.trees[0], true) }

func again(m *model) { m.redelivery(m.trees[0]) }

func deleted(m *model) { m.deleter(m.trees[0]) }

func extended(by time.Duration) func(*model) {
	return func(m *model) { m.extender(m.trees[0], by) }
}

func clock(times int, step time.Duration) func(*model) {
	return func(m *model) { m.Ticks(slices.Repeat([]time.Duration{step}, times)...) }
}

func timer(tags ...string) func(*model) { return func(m *model) { m.timer(tags...) } }

func sweeper(m *model) { m.sweeper(1) }

// nested is a tree of two, and a chain that is the work of its child.
func nested(m *model) {
	two(xorack.CreateOptions{})(m)
	m.nest(m.trees[0].roots[0].children[0], "u")
}

// both creates the first tree, and does the work of both.
func both(m *model) {
	m.create(m.trees[0], false)
	m.workers(m.trees...)
}

func bothAgain(m *model) { m.redelivery(m.trees...) }

// fan is a root that fans into two parts, each of whose work is one write.
func fan(m *model) {
	t := m.newTree("t", xorack.CreateOptions{})
	m.fanOut(t.roots[0], xorack.FanWidth+1)
	m.create(t, false)
	m.worker(t.roots[0])
	for _, child := range t.roots[0].children {
		m.merger(child.nested.nodes...)
	}
}

// stamped is a chain of stamps, each of which comes again until it is in.
func stamped(all ...string) func(*model) {
	return func(m *model) {
		m.stamped["t"] = all
		for i := range all {
			m.stamper("t", i)
		}
	}
}

// small are the small scenarios. Those with a comment are ways in which earlier designs went wrong;
// each has its planted bug in verify/mutant.
func small() []sim.Scenario {
	return append(budgets(), []sim.Scenario{
		// The marks of old operations are dropped to keep the record small. A message of the first
		// generation that comes again very late is then taken for a new one, and ends its edge twice.
		scenario("generations", 1, four(xorack.CreateOptions{}), work, again),
		// A process that sees that nothing is left says so by another write. It dies before that, and
		// nobody ever says it.
		scenario("second write", 1, two(xorack.CreateOptions{}), work, handler),
		// An open chain whose deadline has come is deleted before anybody timed it out, and a late
		// message begins it anew.
		scenario("TTL from the deadline", 0,
			two(xorack.CreateOptions{Deadline: time.Hour}), work, clock(1, 2*time.Hour), ttl),
		// Each stamp is XORed into one value. One that is repeated takes itself out again, and the chain
		// may be done with work under way.
		scenario("bare XOR", 1, root(xorack.CreateOptions{Edges: 2}), work, again),
		// A message that comes twice is done the first time and fails the second time. Without a look at
		// the marks the chain fails although the work was done, and its children are not.
		scenario("failed after its end", 0,
			two(xorack.CreateOptions{}), work, func(m *model) { m.contrary(m.trees[0].roots[0]) }),
		// A chain times out at its deadline, and a message of it fails after that. Its end is TIMED_OUT
		// then, and stays that.
		scenario("failed after it timed out", 1,
			root(xorack.CreateOptions{Deadline: time.Minute}), func(m *model) { m.trees[0].roots[0].fail() },
			work, sweeper, clock(1, time.Minute)),
		// As many work at once as there are messages: three, and a fourth where one comes twice.
		scenario("four edges", 2, four(xorack.CreateOptions{}), work, again, handler),
		scenario("create last", 2, two(xorack.CreateOptions{}), early, handler),
		scenario("messages first", 2, two(xorack.CreateOptions{}),
			func(m *model) { m.trees[0].roots[0].emitsFirst = true }, early, again, handler),
		scenario("two roots", 2,
			root(xorack.CreateOptions{Edges: 2}), early, again, handler),
		scenario("an edge fails", 2, failing, work, again, handler),
		scenario("fails, or is done", 1, two(xorack.CreateOptions{}), early,
			func(m *model) { m.contrary(m.trees[0].roots[0].children[0]) }, handler),
		scenario("add", 2, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{})
			m.split(t.roots[0], 2)
			t.roots[0].add(1)
		}, work, again, handler),
		scenario("merge", 2, func(m *model) {
			t := m.newTree("t", xorack.CreateOptions{})
			children := m.split(t.roots[0], 3)
			m.create(t, false)
			m.worker(t.roots[0])
			m.merger(children...)
			m.merger(children[1], children[2])
			handler(m)
		}),
		scenario("time-out", 1,
			two(xorack.CreateOptions{Deadline: 2 * time.Minute}),
			work, clock(2, time.Minute), sweeper, handler),
		scenario("time-out by the timer", 1,
			two(xorack.CreateOptions{Deadline: 2 * time.Minute}),
			work, clock(2, time.Minute), timer("t", "nobody", "t"), handler),
		scenario("the timer alone", 0,
			two(xorack.CreateOptions{Deadline: 3 * time.Minute, Idle: 2 * time.Minute}),
			func(m *model) {
				m.alarms = sim.Alarms{}
				m.trees[0].mayFail = true // half of its work is never done
				m.create(m.trees[0], false)
				m.worker(m.trees[0].roots[0])
			}, extended(4*time.Minute), timer("t"), clock(2, time.Minute), handler),
		scenario("no progress, and the timer", 1,
			two(xorack.CreateOptions{Idle: 2 * time.Minute}),
			work, clock(2, time.Minute), timer("t"), handler),
		// The sweep reads that there was no progress for too long, and there is some before it says so.
		scenario("no progress", 1,
			two(xorack.CreateOptions{Idle: 2 * time.Minute}), work, clock(2, time.Minute), sweeper),
		scenario("a first copy comes late", 1,
			func(m *model) { m.Run.Network() }, failing, work, handler),
		scenario("stale reads", 1,
			two(xorack.CreateOptions{Deadline: 2 * time.Minute}),
			func(m *model) { m.past = past.Of(m.Tables) }, work, extended(3*time.Minute),
			clock(1, 2*time.Minute), sweeper, handler),
		scenario("extended", 1,
			root(xorack.CreateOptions{Deadline: 2 * time.Minute}),
			func(m *model) { m.create(m.trees[0], false) }, extended(2*time.Minute), extended(3*time.Minute),
			clock(2, time.Minute), sweeper),
		// The end is the sum that is zero, and the record does not say so yet. An operation that asks
		// only whether an end is on record joins.
		scenario("deleted", 1, two(xorack.CreateOptions{}), early, deleted, handler),
		scenario("nested", 2, nested, both, bothAgain, handler),
		scenario("nested fails", 1,
			nested, func(m *model) { m.trees[1].roots[0].fail() }, both, handler, sweeper),
		scenario("fan", 2, fan, handler),
		scenario("expiry", 1,
			two(xorack.CreateOptions{Deadline: 10 * time.Minute}),
			work, again, handler, clock(1, xorack.MinTombstone/2), ttl),
		scenario("no expiry while it is open", 1,
			two(xorack.CreateOptions{}), work, clock(1, 2*xorack.MinTombstone), ttl),
		scenario("tag used again", 2, func(m *model) {
			first := m.newTree("t", xorack.CreateOptions{ID: "1"})
			second := m.newTree("t", xorack.CreateOptions{ID: "2"})
			first.stranger, second.stranger = true, true
			m.work(first, false)
			handler(m)
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
		scenario("stamps", 2, stamped("\x01", "\x07", "\x02", "\x04"), handler),
		scenario("stamps, and nobody comes again", 2, func(m *model) {
			m.stamped["t"] = []string{"\x01", "\x03", "\x02"}
			m.stamper("t", 0)
			m.stampOnce("t", 1)
			m.stampOnce("t", 2)
			handler(m)
		}),
		scenario("stamps that are zero too early", 1,
			stamped("\x01", "\x01", "\x02", "\x02"), handler),
	}...)
}

func large() []sim.Scenario {
	return []sim.Scenario{
		scenario("four edges, created last, with a sweep, 2 faults", 2,
			four(xorack.CreateOptions{Deadline: 20 * time.Minute}),
			early, handler, clock(1, 20*time.Minute), sweeper),
		scenario("four edges, 4 faults", 4, four(xorack.CreateOptions{}), early, again, handler),
		scenario("nested, 3 faults", 3, nested, both, bothAgain, handler, sweeper),
	}
}

// shuffled draws a tree of at most 40 edges and 5 levels, and all that may go on beside its work.
func shuffled(seed uint64) sim.Scenario {
	return sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
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
			handler(m)
		}
		if random.IntN(2) == 0 {
			m.sweeper(2)
			clock(4, time.Minute)(m)
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
	})
}
