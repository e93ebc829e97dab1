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
	simtest.EverySchedule(t, scenario("generations", 1,
		four(xorack.CreateOptions{}), work, again))
}

// Second write: a process that sees that nothing is left says so by another write. It dies before
// that, and nobody ever says it.
func TestTraceSecondWrite(t *testing.T) {
	simtest.EverySchedule(t, scenario("second write", 1,
		two(xorack.CreateOptions{}), work, handler))
}

// Joined after the end: the end is the sum that is zero, and the record does not say so yet. An
// operation that asks only whether an end is on record joins.
func TestTraceJoinedAfterTheEnd(t *testing.T) {
	simtest.EverySchedule(t, scenario("joined after the end", 1,
		two(xorack.CreateOptions{}), early, deleted))
}

// TTL from the deadline: an open chain whose deadline has come is deleted before anybody timed it
// out, and a late message begins it anew.
func TestTraceTTLFromTheDeadline(t *testing.T) {
	simtest.EverySchedule(t, scenario("TTL from the deadline", 0,
		two(xorack.CreateOptions{Deadline: time.Hour}), work, clock(1, 2*time.Hour), ttl))
}

// Bare XOR: each stamp is XORed into one value. One that is repeated takes itself out again, and
// the chain may be done with work under way.
func TestTraceBareXOR(t *testing.T) {
	simtest.EverySchedule(t, scenario("bare XOR", 1,
		root(xorack.CreateOptions{Edges: 2}), work, again))
}

// Failed after its end: a message that comes twice is done the first time and fails the second
// time. Without a look at the marks the chain fails although the work was done, and its children
// are not.
func TestTraceFailedAfterItsEnd(t *testing.T) {
	simtest.EverySchedule(t, scenario("failed after its end", 0,
		two(xorack.CreateOptions{}), work, func(m *model) { m.contrary(m.trees[0].roots[0]) }))
}

// Progress meanwhile: the sweep reads that there was no progress for too long, and there is some
// before it says so.
func TestTraceProgressMeanwhile(t *testing.T) {
	simtest.EverySchedule(t, scenario("progress meanwhile", 0,
		two(xorack.CreateOptions{Idle: time.Minute}), work, clock(1, time.Minute), sweeper))
}

// Failed after it timed out: a chain times out at its deadline, and a message of it fails after
// that. Its end is TIMED_OUT then, and stays that.
func TestTraceFailedAfterItTimedOut(t *testing.T) {
	simtest.EverySchedule(t, scenario("failed after it timed out", 1,
		root(xorack.CreateOptions{Deadline: time.Minute}), func(m *model) { m.trees[0].roots[0].fail() },
		work, sweeper, clock(1, time.Minute)))
}
