package cursor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

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
