package cursor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestKeepBack(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	b.puts(1, 3)
	b.now = b.now.Add(5 * time.Hour)
	b.puts(4, 6)
	back := func(after int64) int64 {
		t.Helper()
		kept, err := b.sorter.Steps().KeepBack(t.Context(), "q", after, 6)
		check.Need(t, err == nil && !kept.More, "%v, %v", kept, err)
		return kept.To
	}
	same(t, "everything behind 1 is there, and", back(1), 1)
	// 1 was not pushed forward, and expires; 2 and 3 were.
	check.Is(t, b.memory.Expire(b.now.Add(4*time.Hour)), 1)
	missing := back(0)
	check.That(t, missing == 1, "%d is said to be missing, want 1", missing)
	same(t, "of nothing", back(6), 6)
	check.Get(b.memory.Inside().DeleteMessages(t.Context(), "q", 4))
	missing = back(0)
	check.That(t, missing == 4, "%d is said to be missing, want 4", missing)
}

func TestDeleteUpTo(t *testing.T) {
	b := newBench(t, nil)
	b.puts(1, 60)
	for _, want := range []int{40, 10, 0} {
		deleted, err := b.sorter.Steps().DeleteUpTo(t.Context(), "q", 50, 40)
		check.That(t, err == nil && deleted == want, "%d deleted, error %v; want %d", deleted, err, want)
	}
	oldest, found, err := b.sorter.Steps().Oldest(t.Context(), "q")
	check.That(t, err == nil && found && oldest.Seq == 51,
		"the oldest is %d (found %v), error %v; want 51", oldest.Seq, found, err)
	b.want("a late duplicate", b.put(body(7)), "stale 60→60")
}

// TestSweepGoesOnWithinALargeBacklog: runs that die in the middle of it keep all of it in the end,
// and what others need too.
func TestSweepGoesOnWithinALargeBacklog(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	const last = 3500
	for first := int64(1); first <= last; first += 500 {
		var group []cursor.Message
		for seq := first; seq < first+500; seq++ {
			group = append(group, body(seq))
		}
		check.OK(t, b.sorter.Put(t.Context(), group...)[0].Err)
	}
	b.now = b.now.Add(5 * time.Hour)
	killed := errors.New("killed")
	kept, runs, reads := 0, 0, 0
	for ; kept < last && runs < 6; runs++ {
		// A run dies when it has pushed the expiry of so many.
		left := 1100
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			switch r.Name() {
			case "keep message":
				left--
			case "query messages":
				reads++
			}
			if left < 0 {
				return ddb.Answer{}, killed
			}
			return b.tables.Do(ctx, r)
		})
		report, err := b.process(cursor.Options{Retention: 8 * time.Hour}).Sweep(t.Context(),
			cursor.SweepOptions{
				Segments: 1, Delivered: func(context.Context, string) (int64, bool, error) {
					return 0, true, nil
				},
			})
		check.Need(t, (err != nil) == (left < 0), "%+v, %v", report, err)
		kept += report.Kept
	}
	// What was kept is not even read again, but for the piece at which a run died.
	check.That(t, kept == last && runs == 4 && reads == 8,
		"%d are kept after %d runs and %d reads, want %d after 4 and 8", kept, runs, reads, last)
}

func (b *bench) orderItems() []queuelog.OrderItem {
	b.t.Helper()
	page := check.Get(b.memory.Inside().OrderItems(b.t.Context(),
		queuelog.Query{Queue: "q", Last: cursor.MaxSeq}))
	return page.Items
}

// TestOrderItemsOutliveWhatTheyName by an hour: when they are made, and when the sweep keeps what
// they name.
func TestOrderItemsOutliveWhatTheyName(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", queuelog.OrderItemEntries)
	outlive := func() {
		t.Helper()
		items := b.orderItems()
		check.Need(t, len(items) == 1, "%d order items, want 1", len(items))
		for i := range items[0].Entries.Len() {
			found, _, err := b.memory.Inside().Arrivals(t.Context(),
				queuelog.ArrivalQuery{Queue: "q", Keys: []sortkey.SortKey{items[0].Entries.At(i).Key}})
			check.Need(t, err == nil && len(found) == 1, "%v, %v", found, err)
			if least := found[0].ExpiresOn.Add(time.Hour); items[0].ExpiresOn.Before(least) {
				t.Errorf("the order item expires %v, want %v or later", items[0].ExpiresOn, least)
			}
		}
	}
	outlive()
	b.now = b.now.Add(10 * 24 * time.Hour)
	n, err := b.process(cursor.Options{}).Steps().KeepUndelivered(t.Context(), "q", 0)
	check.Need(t, err == nil && n.Pushed == queuelog.OrderItemEntries && !n.More, "%+v, %v", n, err)
	outlive()
}

// TestAnOrderItemOfATimeThatIsLost: after a restore one can stand where the queue's next one has to
// be. It is never taken for that, and its places stay in the tail.
func TestAnOrderItemOfATimeThatIsLost(t *testing.T) {
	b := newBench(t, nil)
	lost := newBench(t, nil)
	lost.fill("lost", queuelog.OrderItemEntries)
	b.fill("a", 10)
	check.Get(b.memory.Inside().PutOrderItem(t.Context(), lost.orderItems()[0]))
	b.fill("b", queuelog.MaxTail-10)
	_, err := appendTo(t.Context(), b.sorter, arrival("c"))
	check.That(t, err != nil &&
		strings.Contains(err.Error(), "the order item up to seq 24 is not what the cursor's tail says"),
		"error %v, want one of the order item", err)
	cur, err := b.memory.Inside().Cursor(t.Context(), "q", true)
	check.That(t, err == nil && cur.Tail.Len() == queuelog.MaxTail && cur.TailFrom == 0,
		"%d places in a tail from %d, %v; want all", cur.Tail.Len(), cur.TailFrom, err)
}

// TestARepeatWhosePlaceIsGoneIsStale: a retention that was made shorter lets order items go before
// what they name.
func TestARepeatWhosePlaceIsGoneIsStale(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 3)
	shorter := b.process(cursor.Options{Retention: cursor.MinRetention})
	for i := range 40 {
		check.Get(appendTo(t.Context(), shorter, arrival(time.Duration(i).String())))
	}
	b.now = b.now.Add(6 * time.Hour)
	b.memory.Expire(b.now)
	b.want("a repeat", b.append(arrival("a0")), "stale")
	b.want("another", b.append(arrival("c")), "advanced 44-44")
}
