package logsim

import (
	"testing"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// The traces R1 to R9 are ways in which other designs went wrong. Each is a scenario just large
// enough for it, of which every schedule is walked; each has its planted bug in
// verify/mutant, which makes it fail.

// R1: A's allocation takes effect and its response is lost. Others get places until A's is flushed
// to an order item. If the repeat does not ask that the tail begins where A had looked, A gets a
// second place.
func TestTraceR1TicketWithoutItsBegin(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R1", 1, nearly,
		producers(arrivals("a"), arrivals("b", "c")), others(1, nearly-1, 0)))
}

// R2: a repeat by another process takes the position that it sees itself, which is behind the place
// that the first one got: it never looks there.
func TestTraceR2RepeatWithItsOwnPosition(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R2", 0, nearly,
		producers(arrivals("a", "b"), arrivals("a")), others(1, nearly-1, 0)))
}

// R3: the tail is trimmed, and its writer dies before the order item is stored: the places are
// nowhere.
func TestTraceR3TrimBeforeTheOrderItem(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R3", 1, nearly,
		func(m *model) { m.producer("A", arrivals("a")...) }))
}

// R4: two flush at once, each all that it sees: they see different tails.
func TestTraceR4FlushOfAllThatIsSeen(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R4", 1, queuelog.MaxTail-1,
		producers(arrivals("a", "b"), arrivals("c"))))
}

// R5: the place is given first, and the writer dies before it stores the message: a gap that nobody
// can fill.
func TestTraceR5PlaceBeforeTheMessage(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R5", 1, 0, producers(arrivals("a")), reader(1)))
}

// R6: an id is used again after it has expired, while its first place is in the tail still. If
// places have the id only, the later message gets no place, and gets that of the first.
func TestTraceR6PlaceOfAnEarlierArrival(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R6", 0, 0, expires,
		producers([]call{{together("a", "", 1)}, {together("a", "later", 1)}}), reader(1),
		keeper(5)))
}

// R7: A stores a message and gives up. B repeats it when it is about to expire: unless it is kept,
// it has a place and is gone when it is read.
func TestTraceR7PlaceShortBeforeTheEnd(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R7", 1, 0, expires,
		producers(arrivals("a"), arrivals("a")), keeper(5)))
}

// R8: an undelivered message is kept, and the order item that has its place is not: nobody finds
// the message, and a repeat gets a second place.
func TestTraceR8OrderItemExpiresFirst(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R8", 0, nearly-1, expires, func(m *model) {
		m.early("a")
		m.producer("A", arrivals("b", "a")...)
		m.keeper(6)
	}))
}

// R9: A's allocation takes effect and its response is lost. Others get places until A's has left
// the fingerprints too. If these claim to be of all before the tail that was ever flushed, A gets a
// second place.
func TestTraceR9PrintsOfMoreThanTheyAre(t *testing.T) {
	simtest.EverySchedule(t, inOrder("R9", 1, 0, func(m *model) {
		m.producer("A", arrivals("a")...)
		m.turnover(3)
	}))
}
