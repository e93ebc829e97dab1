package cursor

import (
	"context"
	"fmt"
	"time"
)

// flushFrom is from how many entries on a tail is flushed. It leaves room for
// the tickets of a dozen writers that come during the two requests of a flush,
// and leaves so many entries behind that those find what they had seen.
const flushFrom = 28

// flushEvery: whose ticket takes the tail over flushFrom, or over so many more,
// flushes it: one writer, and another one should that one have died.
const flushEvery = 6

// flushAfter flushes the tail if it is the turn of the writer whose ticket of
// so many entries made it what it is.
func (s *Sorter) flushAfter(ctx context.Context, it Cursor, entries int) {
	steps := func(length int) int { return (length - flushFrom + flushEvery) / flushEvery }
	if now := it.Tail.Len(); now < flushFrom || steps(now) == max(steps(now-entries), 0) {
		return
	}
	// The places are given. Should this fail, another one does it: at the latest
	// the one who finds no room.
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
