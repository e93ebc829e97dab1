package cursorsim

import (
	"context"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// The traces of packed runs are the ways in which one is not what it seems. As with V1 to V13, every schedule of
// each is walked.

// A stores the run 1, 2 and dies, or sleeps; B parks 2 and fills 1, so that the position is at 2, where A's move would
// have brought it. A's messages were accepted only if they are B's.
func TestTracePackThePositionProvesNothing(t *testing.T) {
	simtest.EverySchedule(t, scenario("the position proves nothing", 1, packed, func(m *model) {
		m.writer("A", put{seqs: []int64{1, 2}})
		m.writer("B", put{payload: "other", seqs: []int64{2}}, put{payload: "other", seqs: []int64{1}})
	}))
}

// A has stored the run 1, 2 when B parks 3: the run is dead for ever, and B's own 1 takes its place. A, who finds
// that out by its move, puts its messages singly.
func TestTracePackADeadOneIsOverwritten(t *testing.T) {
	simtest.EverySchedule(t, scenario("a dead one is overwritten", 0, packed, func(m *model) {
		m.writer("A", put{seqs: []int64{1, 2}})
		m.writer("B", puts(3)...)
		m.writer("C", put{payload: "other", seqs: []int64{1}})
	}))
}

// R10: A's move fails, which shows the cursor as it was before A's messages are put singly; the put of 1 fails, and B fills 1
// before A's 2 is there. "2 is on record, as 3 is parked" needs a later look.
func TestTraceR10ALateLook(t *testing.T) {
	simtest.EverySchedule(t, scenario("R10", 1, packed, func(m *model) {
		m.writer("A", put{seqs: []int64{1, 2}})
		m.writer("B", puts(3, 1)...)
	}))
}

// B's 2 is stored beside A's run 1, 2, which the position was moved over before B looked: a stray. B is
// told what A's 2 is to it, whether or not the run is still the last one.
func TestTracePackAStray(t *testing.T) {
	for _, payload := range []string{"", "other"} {
		simtest.EverySchedule(t, scenario("a stray", 1, packed, func(m *model) {
			m.writer("A", put{seqs: []int64{1, 2}}, put{seqs: []int64{3, 4}})
			m.writer("B", put{payload: payload, seqs: []int64{2}})
		}))
	}
}

// Who begins to read at 2 begins in A's run 1, 2, beside which B's 2 may be stored.
func TestTracePackReadFromWithin(t *testing.T) {
	simtest.EverySchedule(t, scenario("read from within", 1, packed, func(m *model) {
		m.writer("A", put{seqs: []int64{1, 2}})
		m.writer("B", put{payload: "other", seqs: []int64{2}})
		m.reader(1, 2)
	}))
}

// The run 1, 2 was stored by one that is gone, and is dead when 3 is parked: the skipper takes both for missing, and who
// sends 1 then is too late.
func TestTracePackADeadOneIsSkippedOver(t *testing.T) {
	simtest.EverySchedule(t, scenario("a dead one is skipped over", 1, func(s *cursor.Settings) { packed(s); skipSettings(s) }, func(m *model) {
		m.leftBehind(1, 2)
		m.writer("A", puts(3, 1)...)
		m.skipper(1)
		m.clock(1, 2*time.Second)
	}))
}

// leftBehind stores a packed run before the run begins, as a writer did that died before its move.
func (m *model) leftBehind(seqs ...int64) {
	messages := put{seqs: seqs}.messages()
	_, _ = m.store.PutMessage(context.Background(), cursor.Message{
		Queue: defaultQueue, Seq: seqs[0], AmongPacks: true, Packed: messages, Digest: []byte("that of the run."), Op: []byte("gone"), EnqueuedAt: m.now,
	})
}
