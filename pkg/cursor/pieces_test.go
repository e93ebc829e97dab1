package cursor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/invalid"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// bounded is an invocation that dies after so many requests: what it was in the middle of then is
// left to the next one.
type bounded struct {
	next ddb.Engine
	left int
}

var errOver = errors.New("the invocation is over")

// Do implements [ddb.Engine].
func (b *bounded) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if b.left--; b.left < 0 {
		return ddb.Answer{}, errOver
	}
	return b.next.Do(ctx, r)
}

// invocation is a process that dies after so many requests.
func (b *bench) invocation(requests int) *cursor.Sorter {
	b.t.Helper()
	s := check.Get(cursor.New(storeOn(b.t, &bounded{b.engine, requests}, cursor.Names{}),
		&cursor.Options{
			Now: func() time.Time { return b.now }, ForEach: fanout.OneByOne,
		}))
	return s
}

// parked stores messages behind the missing first one, as writers do that know no gap: the gap is
// on record, or it is not.
func (b *bench) parked(first, last int64, size int, recorded bool) {
	b.t.Helper()
	body := []byte(strings.Repeat("x", size))
	if recorded {
		b.put(cursor.Message{Queue: "q", Seq: last, Body: body})
	} else if _, err := b.sorter.Configure(b.t.Context(), "q", cursor.Change{}); err != nil {
		b.t.Fatal(err)
	}
	for seq := first; seq <= last; seq++ {
		check.Get(b.memory.Inside().PutMessage(b.t.Context(),
			cursor.Message{Queue: "q", Seq: seq, Body: body, Op: []byte("op"), Digest: []byte("digest")}))
	}
}

func (b *bench) status() cursor.Cursor {
	b.t.Helper()
	return check.Get(b.memory.Inside().Cursor(b.t.Context(), "q", true))
}

// rest is what goes on for a gap on record: the stream's handler; the sweep for what is on no
// record.
func (b *bench) rest(s *cursor.Sorter, recorded bool) (err error) {
	if recorded {
		_, err = s.Steps().Heal(b.t.Context(), "q", 1)
	} else {
		_, err = s.Steps().Recheck(b.t.Context(), "q")
	}
	return err
}

// TestAFilledGapMovesInPieces: with large messages and with small ones, on record and not, the
// cursor moves after a few requests, however much there is to move over; and each invocation that
// dies after a few more leaves less to the next one.
func TestAFilledGapMovesInPieces(t *testing.T) {
	for _, c := range []struct {
		count    int64
		size     int
		recorded bool
		// requests are those after which an invocation dies.
		requests int
	}{
		{3000, 100, true, 9},
		{3000, 100, false, 9},
		{300, 30_000, true, 9},
		{300, 30_000, false, 9},
		{3000, 100, true, 40},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes, on record %v, %d requests", c.count, c.size, c.recorded,
			c.requests), func(t *testing.T) {
			b := newBench(t, nil)
			b.parked(2, c.count, c.size, c.recorded)
			meter := ddbtest.NewMeter(b.tables)
			b.engine = meter
			check.OK(t, b.process(cursor.Options{}).Put(t.Context(), body(1))[0].Err)
			put := meter.Take()
			t.Logf("the put: %+v, position %d", put, b.status().Position)
			if now := b.status().Position; now < 1 || put.Reads+put.Writes > 20 || put.Units.Reads > 1100 {
				t.Errorf("the put moved to %d by %+v", now, put)
			}
			invocations := 0
			for done := false; !done; invocations++ {
				before := b.status()
				done = b.rest(b.invocation(c.requests), c.recorded) == nil
				after := b.status()
				check.Need(t, (done || after.Position != before.Position) && invocations <= 1000,
					"invocation %d did nothing: position %d", invocations, after.Position)
				check.That(t, after.Position <= before.Position || after.Position >= c.count ||
					after.GapOpen(),
					"invocation %d left a run that is not on record: position %d, parked %d",
					invocations, after.Position, after.MaxParked)
			}
			if now := b.status().Position; now != c.count {
				t.Errorf("position %d after %d invocations, want %d", now, invocations, c.count)
			}
		})
	}
}

// TestGapsReadsWhatItMust: one gap is found by looking at one message, and no list reads all that
// is parked.
func TestGapsReadsWhatItMust(t *testing.T) {
	b := newBench(t, nil)
	b.put(body(1))
	b.parked(3, 12_000, 100, true)
	meter := ddbtest.NewMeter(b.tables)
	b.engine = meter
	for limit, most := range map[int]ddbtest.Total{1: {Reads: 2, Units: ddb.Units{Reads: 2}},
		100: {Reads: 9, Units: ddb.Units{Reads: 500}}} {
		list, err := b.process(cursor.Options{}).Gaps(t.Context(), "q", limit)
		cost := meter.Take()
		check.That(t, err == nil && len(list.Gaps) == 1 &&
			list.Gaps[0].Missing == (cursor.Range{From: 1, To: 2}) && list.More,
			"limit %d: %+v, %v; want the gap at 2, and that there may be more", limit, list, err)
		check.That(t, cost.Reads <= most.Reads && cost.Units.Reads <= most.Units.Reads,
			"limit %d: %+v, want at most %+v", limit, cost, most)
	}
}

// TestSkipOfAQueueInArrivalOrder is refused: a tombstone under the seq of an order item that is
// still to come would keep the tail from ever being flushed.
func TestSkipOfAQueueInArrivalOrder(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 10)
	var refused *cursor.InvalidError
	_, err := b.process(cursor.Options{}).Skip(t.Context(), "q", queuelog.OrderItemEntries, "lost")
	check.That(t, errors.As(err, &refused) && refused.Code == invalid.Clash,
		"error %v, want that the queue has no seq to skip", err)
	b.fill("b", 2*queuelog.MaxTail)
	if cur := b.status(); cur.Position != 10+2*queuelog.MaxTail {
		t.Errorf("position %d, want %d", cur.Position, 10+2*queuelog.MaxTail)
	}
}
