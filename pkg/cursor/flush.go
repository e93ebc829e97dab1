package cursor

import (
	"context"
	"errors"
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
// until it has at most that many.
func (s *Sorter) flush(ctx context.Context, cur Cursor, most int) error {
	for cur.Tail.Len() > most {
		var err error
		if cur, err = s.flushItems(ctx, cur, OrderItemEntries, 1); err != nil {
			return err
		}
	}
	return nil
}

// flushKeyed takes entries out of the tail of a keyed queue, KeyedOrderEntries an order
// item, until it has at most so many: the last entry stays there, to which the next is
// linked. Who gives places does so first, so that a tail has maxPlacing more at most: one
// without bounds could not be trimmed by one update in the end, nor stored.
func (s *Sorter) flushKeyed(ctx context.Context, cur Cursor) (Cursor, error) {
	for cur.Tail.Len() > KeyedOrderEntries {
		// Where another trims first, and moves, the tail is as long again.
		var err error
		if cur, err = s.flushItems(ctx, cur, KeyedOrderEntries, (cur.Tail.Len()-1)/KeyedOrderEntries); err != nil {
			return Cursor{}, err
		}
	}
	return cur, nil
}

// flushItems takes the entries of n order items of a size out of the tail as it was seen.
// First the order items are stored, then the tail is trimmed, so that an entry is always in
// one of them. All of it may be done twice, by anybody: the first entries of a tail never change.
func (s *Sorter) flushItems(ctx context.Context, cur Cursor, size, n int) (Cursor, error) {
	items, errs := make([]OrderItem, n), make([]error, n)
	rest, last := cur.Tail, cur.TailFrom
	for i := range items {
		var first Tail
		first, rest = rest.First(size)
		last += first.Seqs()
		items[i] = OrderItem{Queue: cur.Queue, Last: last, Entries: first, ExpiresOn: s.orderExpiry()}
	}
	s.forEach(n, func(i int) {
		there, err := s.store.PutOrderItem(ctx, items[i])
		if err == nil && there.Entries != items[i].Entries {
			err = fmt.Errorf("queue %q: the order item up to seq %d is not what the cursor's tail says", cur.Queue, items[i].Last)
		}
		errs[i] = err
	})
	if err := errors.Join(errs...); err != nil {
		return Cursor{}, err
	}
	return s.remembering(func() (Cursor, error) {
		trimmed, _, err := s.store.TrimTail(ctx, cur, n*size)
		return trimmed, err
	})
}

// orderGrace is how much later than the arrivals that it names an order item
// expires: more than clocks differ and an operation takes. A repeat that finds
// its arrival must find its place.
const orderGrace = 2 * memoAge

// orderExpiry is when an order item that is stored or pushed forward now, or a receipt, may
// be deleted.
func (s *Sorter) orderExpiry() time.Time {
	if s.retention == 0 {
		return time.Time{}
	}
	return s.expiry().Add(orderGrace)
}
