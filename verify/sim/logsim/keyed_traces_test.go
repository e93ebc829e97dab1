package logsim

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/verify/sim/simtest"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// The traces K1 to K14 are ways in which other designs went wrong. Each is a scenario just large
// enough for it, of which every schedule is walked; each has its planted bug in
// verify/mutant, which makes it fail.

// K1: a settler reads what waits, and 2 is all. 1 is stored before its move, and answered as
// waiting. A settler that looks only beyond the watermark never sees it.
func TestTraceK1LookBeyondTheWatermarkOnly(t *testing.T) {
	simtest.EverySchedule(t, scenario("K1", 0, atOnce,
		storeCrowd(2, 1), producers(calls(1)), sweeper(1)))
}

// K2: 1 is stored when 2 has its place and Low is closed: unless its writer looks again, it is
// answered as waiting, and no settler looks for it. A look that is late is no look.
func TestTraceK2NoSecondLook(t *testing.T) {
	simtest.EverySchedule(t, scenario("K2", 1, atOnce, placed(2, 1), producers(calls(1)), sweeper(1)))
}

// K3: 1 is stored between a settler's query and its move; the settler whose wake-up it is has a
// clock that is behind, and leaves it. If the move raises Low to what it places, nobody finds it.
func TestTraceK3LowIsWhatWasPlaced(t *testing.T) {
	simtest.EverySchedule(t, scenario("K3", 0, settled, func(m *model) {
		m.Clocks["late0"] = -time.Second
		m.storeCrowd(2, 1)
		m.producer("A", calls(1)...)
		m.sweeper(1)
		m.settler("late", 1, sortKeyOf(1, "z"))
		m.Ticks(window)
	}))
}

// K3, of the later moves of one read: what came in meanwhile below what they place was not read.
func TestTraceK3ChainOfMoves(t *testing.T) {
	simtest.EverySchedule(t, scenario("K3, a chain", 0, atOnce, func(m *model) {
		m.storeCrowd(2, 260)
		m.latecomer(1)
		m.sweeper(1)
	}))
}

// K3, of a writer that places its own late message: it has read nothing that Low could be raised
// for.
func TestTraceK3WriterRaisesLow(t *testing.T) {
	simtest.EverySchedule(t, scenario("K3, a writer", 0, atOnce,
		storeCrowd(3, 1), producers(calls(2), calls(1)), sweeper(1)))
}

// K4: who moved died before the flush, and so did the next: without a flush before each move the
// tail grows until no update can trim it.
func TestTraceK4TailOfTheDead(t *testing.T) {
	simtest.EverySchedule(t, scenario("K4", 1, atOnce,
		placed(10, mostTail), storeCrowd(2000, 1), sweeper(1)))
}

// K4, of one settler: its flush fails, or another flushes and moves first, and it moves on.
func TestTraceK4MoveWithoutAFlush(t *testing.T) {
	simtest.EverySchedule(t, scenario("K4, a flush that fails", 1, atOnce,
		storeCrowd(1, 260), sweeper(1)))
	simtest.EverySchedule(t, scenario("K4, a flush by another", 0, atOnce, func(m *model) {
		m.crowd(1, anOrderItem+1)
		m.storeCrowd(2000, 128)
		m.overtaker(1000, 128)
		m.sweeper(1)
	}))
}

// K5: a put is under way for long. Its message is late by what was stored, and its stamp is of when
// it was sent: no earlier.
func TestTraceK5PutUnderWay(t *testing.T) {
	simtest.EverySchedule(t, scenario("K5", 0, settled,
		producers(calls(2, 3), calls(1)), sweeper(1), clock(window)))
}

// K6: a settler reads the clock after what waits: what came in between finds itself late, before
// the window is over.
func TestTraceK6ClockAfterTheRead(t *testing.T) {
	simtest.EverySchedule(t, scenario("K6", 0, settled, func(m *model) {
		m.Slow["sweep0"] = true
		m.storeCrowd(2, 1)
		m.producer("A", calls(1)...)
		m.sweeper(1)
		m.Ticks(window-1, 1)
	}))
}

// K7: in a quiet queue an id is used again under its key after it has expired, while its first
// place is in the tail still.
func TestTraceK7PlaceOfAnEarlierMessage(t *testing.T) {
	simtest.EverySchedule(t, scenario("K7", 0, atOnce, expires,
		producers([]call{{one(1, "a", "")}, {one(1, "a", "later")}}), reader(1), sweeper(1),
		keeper(5)))
}

// K8: the same, by a process that remembers the queue from before.
func TestTraceK8OldMemory(t *testing.T) {
	simtest.EverySchedule(t, scenario("K8", 0, atOnce, expires,
		producers([]call{{one(1, "a", "")}, {one(1, "a", "later")}}), reader(1), sweeper(1),
		keeper(5)))
}

// K9: the cursor is set back behind what a message has seen: no place is given before that, where a
// look does not find it.
func TestTraceK9RestoredCursor(t *testing.T) {
	simtest.EverySchedule(t, scenario("K9", 0, atOnce, func(m *model) {
		m.crowd(1, 2)
		m.restored()
		m.crowd(10, 2)
		m.producer("A", calls(20, 20)...)
		m.others(1, 1, 30)
		m.sweeper(1)
	}))
}

// K10: the order item that has a message's place is gone: nobody can say whether it has one.
func TestTraceK10OrderItemGone(t *testing.T) {
	simtest.EverySchedule(t, scenario("K10", 0, atOnce, func(m *model) {
		m.crowd(10, anOrderItem-1)
		m.producer("A", calls(1, 1)...)
		m.others(1, 2, 100)
		m.flusher()
		m.loser()
	}))
}

// K11: which of two equal keys comes first is a matter of the hashes of their ids: the other one is
// late, and not dropped.
func TestTraceK11EqualKeysDropped(t *testing.T) {
	simtest.EverySchedule(t, scenario("K11", 0, newest,
		producers([]call{{one(1, "a", "")}}, []call{{one(1, "f", "")}}), sweeper(1)))
}

// K12: a message whose clock is ahead by far would wait for it.
func TestTraceK12ClockFarAhead(t *testing.T) {
	simtest.EverySchedule(t, scenario("K12", 0, settled, func(m *model) {
		m.Clocks["A"] = 2 * world.WrongClock
		m.producer("A", calls(2)...)
		m.producer("B", calls(1)...)
		m.sweeper(1)
	}))
}

// K13: a message gets its place shortly before it expires, and is gone when it is read.
func TestTraceK13PlaceShortBeforeTheEnd(t *testing.T) {
	simtest.EverySchedule(t, scenario("K13", 0, atOnce,
		expires, producers(calls(1)), sweeper(1), keeper(4)))
}

// K14: a settler reads the clock, and is held up for longer than clocks may be wrong: what came
// since is not far ahead, and not due.
func TestTraceK14HeldUp(t *testing.T) {
	simtest.EverySchedule(t, scenario("K14", 0, settled,
		storeCrowd(1, 1), producers(calls(1, 2)), sweeper(1), clock(6*time.Minute)))
}
