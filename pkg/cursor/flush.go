package cursor

import (
	"context"
	"fmt"
	"time"
)

// flushAfter flushes the tail if the ticket of so many entries, which made it
// what it is, filled an order item: that is one writer's. Should it die, those
// do it who find no room.
//
// During the two requests of a flush each of w other writers gets about one
// ticket, for which there is room in the tail.
func (s *Sorter) flushAfter(ctx context.Context, it Cursor, entries int) {
	if now := it.Tail.Len(); now < OrderItemEntries || now-entries >= OrderItemEntries {
		return
	}
	// The places are given: a failure is for those who find no room.
	_ = s.flush(ctx, it, OrderItemEntries-1)
}

// flush is step 4: it takes entries out of the tail, an order item's at a time,
// until it has at most that many. First the order item is stored, then the tail
// is trimmed, so that an entry is always in one of them. All of it may be done
// twice, by anybody: the first entries of a tail never change.
func (s *Sorter) flush(ctx context.Context, it Cursor, most int) error {
	for it.Tail.Len() > most {
		first, _ := it.Tail.First(OrderItemEntries)
		o := OrderItem{Queue: it.Queue, Last: it.TailFrom + first.Seqs(), Entries: first, ExpiresOn: s.orderExpiry()}
		there, err := s.store.PutOrderItem(ctx, o)
		if err != nil {
			return err
		}
		if there.Entries != first {
			return fmt.Errorf("queue %q: the order item up to seq %d is not what the cursor's tail says", it.Queue, o.Last)
		}
		seen := it
		it, err = s.remembering(func() (Cursor, error) {
			it, _, err := s.store.TrimTail(ctx, seen)
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
