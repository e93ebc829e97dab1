package cursor

import (
	"context"
	"iter"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// arrivalQueue is the queue's cursor if it is in arrival order, or a keyed one, with a position of
// upTo or more. It makes no request where what is remembered answers it.
func (s *Sorter) arrivalQueue(ctx context.Context, queue string,
	upTo int64) (cur Cursor, arrival bool, err error) {
	cur, known := s.seen.get(queue)
	if known && numbered(cur) {
		return cur, false, nil
	}
	if !known || cur.Position < upTo {
		if cur, err = s.readCursor(ctx, queue); err != nil {
			return cur, false, err
		}
	}
	return cur, cur.Exists() && !numbered(cur), nil
}

// orderPart is places that stand in one item.
type orderPart struct {
	after   int64
	entries queuelog.Tail
	// item is the order item; the zero one is the cursor's tail.
	item queuelog.OrderItem
}

// parts are the places of the seqs after < seq <= upTo, and of those beside them in the same item,
// in order. They end with a [MissingError] where an order item is missing: it expires later than
// all that it names.
//
// Reads are eventually consistent, and strong where such a read did not show an order item that
// must be there.
func (s *Sorter) parts(ctx context.Context, cur Cursor,
	after, upTo int64) iter.Seq2[orderPart, error] {
	return func(yield func(orderPart, error) bool) {
		expect, strong := after, false
		for expect < min(upTo, cur.TailFrom) {
			page, err := s.store.OrderItems(ctx, queuelog.Query{
				Queue: cur.Queue, First: expect + 1, Last: cur.TailFrom, Limit: itemsFor(expect, upTo),
				Strong: strong,
			})
			if err != nil {
				yield(orderPart{}, err)
				return
			}
			before := expect
			for _, o := range page.Items {
				if o.After() > expect || expect >= upTo {
					break
				}
				if !yield(orderPart{o.After(), o.Entries, o}, nil) {
					return
				}
				expect = o.Last
			}
			if expect == before && strong {
				yield(orderPart{}, &MissingError{cur.Queue, expect + 1})
				return
			}
			strong = expect == before
		}
		if expect < upTo && cur.Tail != "" {
			yield(orderPart{after: cur.TailFrom, entries: cur.Tail}, nil)
		}
	}
}

// itemsFor is how many order items are enough for the seqs after < seq <= upTo, where each has
// OrderItemEntries seqs at least.
func itemsFor(after, upTo int64) int {
	return int(min((upTo-after)/queuelog.OrderItemEntries+2, maxBatchSize))
}

// partsDown is parts from above, read strongly. It ends where an order item is missing.
func (s *Sorter) partsDown(ctx context.Context, cur Cursor,
	after, upTo int64) iter.Seq2[orderPart, error] {
	return func(yield func(orderPart, error) bool) {
		if upTo > cur.TailFrom && cur.Tail != "" &&
			!yield(orderPart{after: cur.TailFrom, entries: cur.Tail}, nil) {
			return
		}
		// The order item of upTo may end behind it, the topmost one ends at TailFrom: all that is
		// needed starts at or before upTo.
		last := cur.TailFrom
		if upTo < last {
			page, err := s.store.OrderItems(ctx,
				queuelog.Query{Queue: cur.Queue, First: upTo, Last: cur.TailFrom, Limit: 1, Strong: true})
			if err != nil {
				yield(orderPart{}, err)
				return
			}
			if len(page.Items) == 0 {
				return
			}
			last = page.Items[0].Last
		}
		for last > after {
			page, err := s.store.OrderItems(ctx, queuelog.Query{
				Queue: cur.Queue, First: after + 1, Last: last, Limit: itemsFor(after, last), Strong: true,
				Backwards: true,
			})
			if err != nil {
				yield(orderPart{}, err)
				return
			}
			if len(page.Items) == 0 {
				return
			}
			for _, o := range page.Items {
				if o.Last != last || !yield(orderPart{o.After(), o.Entries, o}, nil) {
					return
				}
				last = o.After()
			}
		}
	}
}

// within are the places of a part that hold one of the seqs after < seq <= upTo.
func (p orderPart) within(after, upTo int64) []place {
	var places []place
	for at := range placesOf(p.entries, p.after) {
		if at.seqs.To > after && at.seqs.From < upTo {
			places = append(places, at)
		}
	}
	return places
}

// notDropped are the places whose messages are delivered.
func notDropped(places []place) []place {
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		return p.Has(queuelog.MarkDropped)
	})
}

// maxArrivals is how many arrivals one request reads.
const maxArrivals = 100

// arrivals reads the arrivals of up to maxArrivals places, or maxWaiting of a keyed queue. Those
// that are not there, or of which a later one has taken the id, are not in the answer, and those of
// empty entries neither.
//
// Reads are eventually consistent, and strong for what such a read does not show; or all strong.
func (s *Sorter) arrivals(ctx context.Context, queue string, places []place,
	headsOnly, strong bool) (map[queuelog.Entry]Arrival, error) {
	found := make(map[queuelog.Entry]Arrival, len(places))
	places = notDropped(places)
	if len(places) > 0 && places[0].Has(queuelog.MarkKeyed) {
		if err := s.inOrder(ctx, queue, places, found, headsOnly, strong); err != nil {
			return nil, err
		}
	}
	for {
		want := map[sortkey.SortKey][]queuelog.Entry{}
		var keys []sortkey.SortKey
		for _, p := range places {
			if _, ok := found[p.Entry]; ok {
				continue
			}
			if want[p.Key] == nil {
				keys = append(keys, p.Key)
			}
			want[p.Key] = append(want[p.Key], p.Entry)
		}
		for len(keys) > 0 {
			batch := keys[:min(len(keys), maxArrivals)]
			read, left, err := s.store.Arrivals(ctx,
				queuelog.ArrivalQuery{Queue: queue, Keys: batch, Strong: strong, HeadsOnly: headsOnly})
			if err != nil {
				return nil, err
			}
			for _, a := range read {
				for _, e := range want[a.sortKey()] {
					if a.is(e) {
						found[e] = a
					}
				}
			}
			if len(read) == 0 && len(left) == len(batch) {
				return nil, ErrThrottled
			}
			keys = append(left, keys[len(batch):]...)
		}
		if strong || len(found) == len(places) {
			return found, nil
		}
		strong = true
	}
}
