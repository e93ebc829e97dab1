package cursor

import (
	"context"
	"iter"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// Read yields the messages with after < seq <= upTo in order, tombstones among them. upTo must not
// be past the queue's position: everything up to there is stored, and a seq that is not is yielded
// as a [MissingError], which ends the reading.
//
// Reads are eventually consistent, at half the price, and strong only where such a read did not
// show a message that must be there. A page is read when the one before it has been taken.
func (s *Sorter) Read(ctx context.Context, queue string,
	after, upTo int64) iter.Seq2[Message, error] {
	cur, _ := s.seen.get(queue)
	return s.readFrom(ctx, cur, queue, after, upTo)
}

// readFrom is Read where a cursor of the queue is at hand, or the zero Cursor. A queue of which
// nothing is known is taken for a numbered one until something is not where it would be.
func (s *Sorter) readFrom(ctx context.Context, cur Cursor, queue string,
	after, upTo int64) iter.Seq2[Message, error] {
	arrivalOrder := cur.Exists() && !numbered(cur)
	if arrivalOrder && cur.Position >= upTo {
		return s.readArrivals(ctx, cur, after, upTo)
	}
	return func(yield func(Message, error) bool) {
		expect, strong := after, false
		for expect < upTo {
			if arrivalOrder || strong && !cur.Exists() {
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
			page, err := s.store.Messages(ctx,
				queuelog.Query{Queue: queue, First: expect + 1, Last: upTo, Strong: strong})
			if err != nil {
				yield(Message{}, err)
				return
			}
			before, whole := expect, len(page.Messages) > 0
			for _, m := range page.Messages {
				if m.Seq > expect+1 {
					whole = false
					break
				}
				if !yield(m, nil) {
					return
				}
				expect = m.Seq
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
