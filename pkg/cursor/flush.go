package cursor

import (
	"context"
	"fmt"
	"time"
)

// flushAfter flushes the tail if the allocation of so many entries, which made it
// what it is, filled an order item: that is one writer's. Should it die, those
// do it who find no room.
//
// During the two requests of a flush each of w other writers gets about one
// allocation, for which there is room in the tail.
func (s *Sorter) flushAfter(ctx context.Context, cur Cursor, entries int) {
	if now := cur.Tail.Len(); now < OrderItemEntries || now-entries >= OrderItemEntries {
		return
	}
	// The places are given: a failure is for those who find no room.
	_ = s.flush(ctx, cur, OrderItemEntries-1)
}

// flush is step 4: it takes entries out of the tail, an order item's at a time,
// until it has at most that many. First the order item is stored, then the tail
// is trimmed, so that an entry is always in one of them. All of it may be done
// twice, by anybody: the first entries of a tail never change.
func (s *Sorter) flush(ctx context.Context, cur Cursor, most int) error {
	for cur.Tail.Len() > most {
		first, _ := cur.Tail.First(OrderItemEntries)
		o := OrderItem{Queue: cur.Queue, Last: cur.TailFrom + first.Seqs(), Entries: first, ExpiresOn: s.orderExpiry()}
		there, err := s.store.PutOrderItem(ctx, o)
		if err != nil {
			return err
		}
		if there.Entries != first {
			return fmt.Errorf("queue %q: the order item up to seq %d is not what the cursor's tail says", cur.Queue, o.Last)
		}
		seen := cur
		cur, err = s.remembering(func() (Cursor, error) {
			cur, _, err := s.store.TrimTail(ctx, seen, OrderItemEntries)
			return cur, err
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
