package arrivalsim

import (
	"testing"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// The traces R1 to R9 are ways in which other designs went wrong. Each is a
// scenario just large enough for it, of which every schedule is walked; each has
// its planted bug in verify/mutant, which makes it fail.

// R1: A's allocation takes effect and its response is lost. Others get places until
// A's is flushed to an order item. If the repeat does not ask that the tail
// begins where A had looked, A gets a second place.
func TestTraceR1TicketWithoutItsBegin(t *testing.T) {
	simtest.EverySchedule(t, scenario("R1", 1, nearly, func(m *model) {
		m.producer("A", calls("a")...)
		m.producer("B", calls("b", "c")...)
		m.others(1, nearly-1)
	}))
}

// R2: a repeat by another process takes the position that it sees itself, which
// is behind the place that the first one got: it never looks there.
func TestTraceR2RepeatWithItsOwnPosition(t *testing.T) {
	simtest.EverySchedule(t, scenario("R2", 0, nearly, func(m *model) {
		m.producer("A", calls("a", "b")...)
		m.producer("B", calls("a")...)
		m.others(1, nearly-1)
	}))
}

// R3: the tail is trimmed, and its writer dies before the order item is
// stored: the places are nowhere.
func TestTraceR3TrimBeforeTheOrderItem(t *testing.T) {
	simtest.EverySchedule(t, scenario("R3", 1, nearly, func(m *model) { m.producer("A", calls("a")...) }))
}

// R4: two flush at once, each all that it sees: they see different tails.
func TestTraceR4FlushOfAllThatIsSeen(t *testing.T) {
	simtest.EverySchedule(t, scenario("R4", 1, queuelog.MaxTail-1, func(m *model) {
		m.producer("A", calls("a", "b")...)
		m.producer("B", calls("c")...)
	}))
}

// R5: the place is given first, and the writer dies before it stores the message: a gap
// that nobody can fill.
func TestTraceR5PlaceBeforeTheMessage(t *testing.T) {
	simtest.EverySchedule(t, scenario("R5", 1, 0, func(m *model) {
		m.producer("A", calls("a")...)
		m.reader(1)
	}))
}

// R6: an id is used again after it has expired, while its first place is in the
// tail still. If places have the id only, the later message gets no place, and
// gets that of the first.
func TestTraceR6PlaceOfAnEarlierArrival(t *testing.T) {
	simtest.EverySchedule(t, scenarioKept("R6", 0, 0, func(m *model) {
		m.producer("A", call{one("a", "", 1)}, call{one("a", "later", 1)})
		m.reader(1)
		m.keeper(5, retention/4)
	}))
}

// R7: A stores a message and gives up. B repeats it when it is about to expire:
// unless it is kept, it has a place and is gone when it is read.
func TestTraceR7PlaceShortBeforeTheEnd(t *testing.T) {
	simtest.EverySchedule(t, scenarioKept("R7", 1, 0, func(m *model) {
		m.producer("A", calls("a")...)
		m.producer("B", calls("a")...)
		m.keeper(5, retention/4)
	}))
}

// R8: an undelivered message is kept, and the order item that has its place is
// not: nobody finds the message, and a repeat gets a second place.
func TestTraceR8OrderItemExpiresFirst(t *testing.T) {
	simtest.EverySchedule(t, scenarioKept("R8", 0, nearly-1, func(m *model) {
		m.early("a")
		m.producer("A", calls("b", "a")...)
		m.keeper(6, retention/4)
	}))
}

// R9: A's allocation takes effect and its response is lost. Others get places until
// A's has left the fingerprints too. If these claim to be of all before the tail that
// was ever flushed, A gets a second place.
func TestTraceR9PrintsOfMoreThanTheyAre(t *testing.T) {
	simtest.EverySchedule(t, scenario("R9", 1, 0, func(m *model) {
		m.producer("A", calls("a")...)
		m.turnover(3)
	}))
}
