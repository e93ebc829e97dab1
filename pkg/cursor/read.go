package cursor

import (
	"context"
	"iter"
	"slices"
)

// Read yields the messages with after < seq <= upTo in order, tombstones
// among them. upTo must not be past the queue's position: everything up to
// there is stored, and a seq that is not is yielded as a [MissingError], which
// ends the reading.
//
// Reads are eventually consistent, at half the price, and strong only where
// such a read did not show a message that must be there, and in a queue with packed runs up to
// the last seq that was ever parked. A page is read when
// the one before it has been taken.
func (s *Sorter) Read(ctx context.Context, queue string, after, upTo int64) iter.Seq2[Message, error] {
	cur, _ := s.seen.get(queue)
	return s.readFrom(ctx, cur, queue, after, upTo)
}

// readFrom is Read where a cursor of the queue is at hand, or the zero Cursor.
// A queue of which nothing is known is taken for a numbered one until something
// is not where it would be.
func (s *Sorter) readFrom(ctx context.Context, cur Cursor, queue string, after, upTo int64) iter.Seq2[Message, error] {
	arrivalOrder := cur.Exists() && !numbered(cur)
	if arrivalOrder && cur.Position >= upTo {
		return s.readArrivals(ctx, cur, after, upTo)
	}
	return func(yield func(Message, error) bool) {
		expect, strong := after, false
		for expect < upTo {
			if arrivalOrder || strong && !cur.Exists() || cur.Settings.Packs.some() && cur.Position < upTo {
				var err error
				cur, arrivalOrder, err = s.arrivalQueue(ctx, queue, upTo)
				if err != nil {
					yield(Message{}, err)
					return
				}
				if arrivalOrder {
					s.readArrivals(ctx, cur, expect, upTo)(yield)
					return
				}
			}
			strong = strong || cur.mayShowDead(expect)
			page, err := s.store.Messages(ctx, Query{Queue: queue, First: expect + 1, Last: upTo, Strong: strong})
			if err == nil && !cur.Exists() && page.amongPacks() {
				if cur, err = s.readCursor(ctx, queue); err == nil && cur.mayShowDead(expect) {
					continue
				}
			}
			items := page.Messages
			if err == nil && expect == after {
				items, err = s.withFirst(ctx, cur, expect, items)
			}
			if err != nil {
				yield(Message{}, err)
				return
			}
			before, whole := expect, len(items) > 0
			for _, item := range items {
				if item.Seq > expect+1 {
					whole = false
					break
				}
				// A stray in a packed run has none.
				for _, m := range item.within(expect, upTo) {
					if !yield(m, nil) {
						return
					}
					expect = m.Seq
				}
			}
			if strong && expect == before {
				yield(Message{}, &MissingError{queue, expect + 1})
				return
			}
			// A page that does not reach as far as it could have shows a hole.
			strong = !whole || !page.More && expect < upTo
		}
	}
}

// amongPacks reports whether the page is of a queue that has packed runs.
func (p Page) amongPacks() bool { return len(p.Messages) > 0 && p.Messages[0].AmongPacks }

// mayShowDead reports whether a read behind a seq that is not strong may show a packed run that
// was dead, and in whose place a message was put since: the cursor, which is past what is read,
// has a message from its first seq on as parked then, for ever.
func (c Cursor) mayShowDead(after int64) bool { return c.Settings.Packs.some() && after < c.MaxParked }

// withFirst are the items of a page that begins behind a seq, and before them the packed run
// that the reading begins within, where it does. The cursor is past what is read.
func (s *Sorter) withFirst(ctx context.Context, cur Cursor, after int64, items []Message) ([]Message, error) {
	begins := len(items) > 0 && items[0].Seq == after+1 && len(items[0].Packed) > 0
	if begins || !cur.mayCover(after+1) || after < cur.Settings.First {
		return items, nil
	}
	there, _, err := s.standing(ctx, cur, after+1)
	if err != nil || len(there.Packed) == 0 {
		return items, err
	}
	return slices.Insert(items, 0, there), nil
}

// firstItem is the seq under which the item is stored that the message behind a seq is in, as
// far as that is known: after+1 where it is in none, or not passed.
func (s *Sorter) firstItem(ctx context.Context, cur Cursor, after int64) (int64, error) {
	if !cur.mayCover(after+1) || after < cur.Settings.First {
		return after + 1, nil
	}
	item, _, err := s.standing(ctx, cur, after+1)
	if err != nil || len(item.Packed) == 0 {
		return after + 1, err
	}
	return item.Seq, nil
}
