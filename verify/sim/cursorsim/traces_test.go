package cursorsim

import (
	"errors"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// The traces V1 to V13 are ways in which earlier designs went wrong. Each is a scenario just large
// enough for it, of which every schedule is walked; each has its planted bug in
// verify/mutant, which makes it fail.

// V1: the first message of a queue is stored beyond a gap, and no cursor was made before. The
// condition of the write that opens the gap is then false for ever, and no sweep over cursors finds
// the queue.
func TestTraceV1NoCursorFirst(t *testing.T) {
	simtest.EverySchedule(t, onNew("V1", 1, nil, writers(puts(2))))
}

// V2: A's move to 1 takes effect and its response is lost; meanwhile B has parked 2. The repeat of
// the move fails. If A takes "the position is where I wanted it" for "somebody else does the rest",
// nobody looks behind 1.
func TestTraceV2OwnMoveTakenForAnothers(t *testing.T) {
	simtest.EverySchedule(t, scenario("V2", 1, nil, writers(puts(1), puts(2))))
}

// V3: B parks 2, A moves to 1 and dies before it looks behind. The record of 1 comes to the
// handler; if that stops because the position is at 1 already, 2 waits for ever.
func TestTraceV3HealerStopsAtThePosition(t *testing.T) {
	simtest.EverySchedule(t, scenario("V3", 1, nil, writers(puts(1), puts(2)), (*model).handler))
}

// V4: the handler's move fails because A made it. If the handler leaves the rest to A, and A dies
// right there, what is parked behind waits for ever.
func TestTraceV4HealerLeavesTheRestToTheDead(t *testing.T) {
	simtest.EverySchedule(t, scenario("V4", 1, nil, writers(puts(1), puts(2)), (*model).handler))
}

// V5: A stores 2 and 4, looks, and parks 4; B has stored 1 and moved to 1 before A's parking, so B
// saw no gap and did not look behind it. If A is done once 4 is parked, 2 waits although it is the
// next.
func TestTraceV5BatchParksAndStops(t *testing.T) {
	simtest.EverySchedule(t, scenario("V5", 0, nil, writers([]put{{seqs: []int64{2, 4}}}, puts(1))))
}

// V6: 2 is parked, a while later 4, then 1 comes and the position is 2. If the move does not begin
// the gap's age anew, 3 is skipped with the age of the gap at 1, when it has been missing for a
// tick.
func TestTraceV6AgeOfAnOlderGap(t *testing.T) {
	simtest.EverySchedule(t, scenario("V6", 0, skipSettings, func(m *model) {
		m.keep = cursor.MinRetention // time passes between two calls
	}, writers(puts(2, 4, 1)), skipper(1), clock(2)))
}

// V7: 1 is passed, and deleted after its retention. A late repeat of its put must not be accepted:
// behind the position nobody would deliver it.
func TestTraceV7LatePutOfADeletedSeq(t *testing.T) {
	simtest.EverySchedule(t, scenario("V7", 0, nil, func(m *model) {
		m.keep = cursor.MinRetention
		m.writer("A", puts(1)...)
		m.writer("B", puts(2, 1)...)
		m.expiry(1, cursor.MinRetention)
	}))
}

// V8: 2 waits behind a gap longer than the retention. Unless its expiry is pushed forward, it is
// deleted before it was delivered.
func TestTraceV8RetentionEatsAParkedMessage(t *testing.T) {
	simtest.EverySchedule(t, scenario("V8", 0, nil, func(m *model) {
		m.keep = cursor.MinRetention
		m.writer("A", puts(2)...)
		m.keeper(3, cursor.MinRetention/4)
	}))
}

// V9: a queue that is begun again under the same name mixes with what is left of the old one, and
// with writers that remember it. So a queue's first seq and its position cannot be set once it is
// there.
func TestTraceV9NoReset(t *testing.T) {
	for _, first := range []int64{0, 2} {
		s := check.Get(cursor.New(cursor.NewMemory(), nil))
		check.OK(t, s.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1})[0].Err)
		_, err := s.Configure(t.Context(), "q", cursor.Change{First: &first})
		check.That(t, errors.Is(err, cursor.ErrFixed), "another first seq: error %v, want ErrFixed", err)
		cur := check.Get(s.Status(t.Context(), "q"))
		check.That(t, cur.Position == 1 && cur.Settings.First == 1, "%+v", cur)
	}
}

// V10: A dies right after its put, and the stream drops the record. No gap is on record: only a
// sweep that looks behind every queue's position finds 1.
func TestTraceV10CrashWithoutAMark(t *testing.T) {
	simtest.EverySchedule(t, scenario("V10", 1, nil, writers(puts(1))))
}

// V11: A remembers position 0 while B moves to 2. A queue of two ahead is not full for 3 then: what
// A remembers is a lower bound, and no reason to refuse.
func TestTraceV11FullFromMemory(t *testing.T) {
	simtest.EverySchedule(t, scenario("V11", 0, func(s *cursor.Settings) { s.MaxAhead = 1 },
		writers(puts(1, 3), puts(1, 2))))
}

// V12: 2 is parked. A stores 1, and looks behind it; then B stores 4, for which the gap on record
// is enough. A moves to 2, which fills the gap; B stores 3 and moves to it, and knows of no gap. If
// A stops there, 4 waits for ever.
func TestTraceV12NobodyLooksBehindTheGap(t *testing.T) {
	simtest.EverySchedule(t, scenario("V12", 0, nil, before(true, 2), writers(puts(1), puts(4, 3))))
}

// V13: who stored 1 and 2 is gone, and the handler moves to 2. If it then looks at 3 only, and not
// beyond, the 4 that B has stored meanwhile is on no record, and B moves over 3 alone.
func TestTraceV13NobodyLooksBeyondTheHole(t *testing.T) {
	simtest.EverySchedule(t, scenario("V13", 1, nil, func(m *model) {
		m.before(true, 1, 2)
		m.records = []place{{defaultQueue, 1}}
		m.writer("B", puts(4, 3)...)
		m.handler()
	}))
}
