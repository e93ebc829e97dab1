package cursor

import (
	"context"
	"fmt"
	"time"
)

// flushFrom is from how many entries on a tail is flushed. During the two
// requests of a flush each of w other writers gets about one ticket: there is
// room for MaxTail-flushFrom. And flushFrom+w-OrderItemEntries entries are left
// behind, which is more than came since each of them last saw a position, but for
// one that sleeps: its ticket fails, and it searches. A higher mark makes that
// rarer, and more cursors larger than 1 KB.
const flushFrom = 36

// flushAfter flushes the tail if the ticket of so many entries, which made it
// what it is, took it to flushFrom: that is one writer's. Should it die, those
// do it who find no room.
func (s *Sorter) flushAfter(ctx context.Context, it Cursor, entries int) {
	if now := it.Tail.Len(); now < flushFrom || now-entries >= flushFrom {
		return
	}
	// The places are given: a failure is for those who find no room.
	_ = s.flush(ctx, it, flushFrom-1)
}

// flush is step 4: it takes entries out of the tail until it has at most that
// many, or too few for an order item. First the order item is stored, then the
// tail is trimmed, so that an entry is always in one of them. All of it may be
// done twice, by anybody: the first entries of a tail never change.
func (s *Sorter) flush(ctx context.Context, it Cursor, most int) error {
	for it.Tail.Len() > most && it.Tail.Len() >= OrderItemEntries {
		first, _ := it.Tail.First(OrderItemEntries)
		o := OrderItem{Queue: it.Queue, Last: it.TailFrom + first.Seqs(), Entries: first, ExpiresOn: s.orderExpiry()}
		there, err := s.store.PutOrderItem(ctx, o)
		if err != nil {
			return err
		}
		if there.Entries != first {
			return fmt.Errorf("queue %q: the order item up to seq %d is not what the cursor's tail says", it.Queue, o.Last)
		}
		from := it.TailFrom
		it, err = s.remembering(func() (Cursor, error) {
			it, _, err := s.store.TrimTail(ctx, it.Queue, from, o.Last)
			return it, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// orderGrace is how much later than the arrivals that it names an order item
// expires: more than clocks differ and an operation takes. A repeat that finds
// its arrival must find its place.
const orderGrace = 2 * memoAge

// orderExpiry is when an order item that is stored or pushed forward now may be
// deleted.
func (s *Sorter) orderExpiry() time.Time {
	if s.retention == 0 {
		return time.Time{}
	}
	return s.expiry().Add(orderGrace)
}
