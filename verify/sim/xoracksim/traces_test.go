package xoracksim

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// The traces are ways in which earlier designs went wrong. Each is a scenario just large enough for
// it, of which every schedule is walked; each has its planted bug in verify/mutant, which makes it
// fail.

// Generations: the marks of old operations are dropped to keep the record small. A message of the
// first generation that comes again very late is then taken for a new one, and ends its edge twice.
func TestTraceGenerations(t *testing.T) {
	simtest.EverySchedule(t, scenario("generations", 1, func(m *model) {
		tree := m.four("t", xorack.CreateOptions{})
		m.work(tree, false)
		m.redelivery(tree)
	}))
}

// Second write: a process that sees that nothing is left says so by another write. It dies before
// that, and nobody ever says it.
func TestTraceSecondWrite(t *testing.T) {
	simtest.EverySchedule(t, scenario("second write", 1, func(m *model) {
		tree := m.two("t", xorack.CreateOptions{})
		m.work(tree, false)
		m.handler()
	}))
}

// Joined after the end: the end is the sum that is zero, and the record does not say so yet. An
// operation that asks only whether an end is on record joins.
func TestTraceJoinedAfterTheEnd(t *testing.T) {
	simtest.EverySchedule(t, scenario("joined after the end", 1, func(m *model) {
		tree := m.two("t", xorack.CreateOptions{})
		m.work(tree, true)
		m.deleter(tree)
	}))
}

// TTL from the deadline: an open chain whose deadline has come is deleted before anybody timed it
// out, and a late message begins it anew.
func TestTraceTTLFromTheDeadline(t *testing.T) {
	simtest.EverySchedule(t, scenario("TTL from the deadline", 0, func(m *model) {
		tree := m.two("t", xorack.CreateOptions{Deadline: time.Hour})
		m.work(tree, false)
		m.clock(1, 2*time.Hour)
		m.ttl(1)
	}))
}

// Bare XOR: each stamp is XORed into one value. One that is repeated takes itself out again, and
// the chain may be done with work under way.
func TestTraceBareXOR(t *testing.T) {
	simtest.EverySchedule(t, scenario("bare XOR", 1, func(m *model) {
		tree := m.newTree("t", xorack.CreateOptions{Edges: 2})
		m.work(tree, false)
		m.redelivery(tree)
	}))
}

// Failed after its end: a message that comes twice is done the first time and fails the second
// time. Without a look at the marks the chain fails although the work was done, and its children
// are not.
func TestTraceFailedAfterItsEnd(t *testing.T) {
	simtest.EverySchedule(t, scenario("failed after its end", 0, func(m *model) {
		tree := m.two("t", xorack.CreateOptions{})
		m.work(tree, false)
		m.contrary(tree.roots[0])
	}))
}

// Progress meanwhile: the sweep reads that there was no progress for too long, and there is some
// before it says so.
func TestTraceProgressMeanwhile(t *testing.T) {
	simtest.EverySchedule(t, scenario("progress meanwhile", 0, func(m *model) {
		tree := m.two("t", xorack.CreateOptions{Idle: time.Minute})
		m.work(tree, false)
		m.clock(1, time.Minute)
		m.sweeper(1)
	}))
}

// Failed after it timed out: a chain times out at its deadline, and a message of it fails after
// that. Its end is TIMED_OUT then, and stays that.
func TestTraceFailedAfterItTimedOut(t *testing.T) {
	simtest.EverySchedule(t, scenario("failed after it timed out", 1, func(m *model) {
		tree := m.newTree("t", xorack.CreateOptions{Deadline: time.Minute})
		tree.roots[0].fail()
		m.work(tree, false)
		m.sweeper(1)
		m.clock(1, time.Minute)
	}))
}
