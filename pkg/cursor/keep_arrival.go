package cursor

import (
	"context"
	"slices"
)

// keeping keeps arrivals of a queue from expiring.
type keeping struct {
	sorter *Sorter
	queue  string
	pushed int
}

// keep pushes the expiry of the arrivals that have one of the seqs
// after < seq <= upTo in a part, where it is due. It returns the places of those
// that are not there.
func (k *keeping) keep(ctx context.Context, part orderPart, after, upTo int64) (missing []place, err error) {
	kept := false
	if e := part.item.ExpiresOn; !e.IsZero() && k.sorter.expiresSoon(e.Add(-orderGrace)) {
		if err := k.keepItem(ctx, part.item); err != nil {
			return nil, err
		}
		kept = true
	}
	for places := range slices.Chunk(part.within(after, upTo), maxArrivals) {
		found, err := k.sorter.arrivals(ctx, k.queue, places, true, true)
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			a, there := found[p.Entry]
			if there && k.sorter.expiresSoon(a.ExpiresOn) {
				if !kept {
					// The order item first: it must not expire before them.
					if err := k.keepItem(ctx, part.item); err != nil {
						return nil, err
					}
					kept = true
				}
				there, err = k.sorter.store.KeepArrival(ctx, k.queue, p.Hash, a.Seen, k.sorter.expiry())
				if err != nil {
					return nil, err
				}
				k.pushed++
			}
			if !there {
				missing = append(missing, p)
			}
		}
	}
	return missing, nil
}

func (k *keeping) keepItem(ctx context.Context, o OrderItem) error {
	if o.Queue == "" {
		return nil // the tail does not expire
	}
	_, err := k.sorter.store.KeepUntil(ctx, k.queue, o.Last, k.sorter.orderExpiry())
	return err
}

// keepArrivals is KeepUndelivered of a queue in arrival order.
func (s *Sorter) keepArrivals(ctx context.Context, cur Cursor, after int64) (int, error) {
	k := keeping{sorter: s, queue: cur.Queue}
	for next := after; next < cur.TailFrom; {
		page, err := s.store.OrderItems(ctx, Query{Queue: cur.Queue, First: next + 1, Last: cur.TailFrom, Strong: true})
		if err != nil {
			return k.pushed, err
		}
		for _, o := range page.Items {
			if _, err := k.keep(ctx, orderPart{o.after(), o.Entries, o}, after, cur.Position); err != nil {
				return k.pushed, err
			}
			next = o.Last
		}
		if !page.More {
			break
		}
	}
	_, err := k.keep(ctx, orderPart{after: cur.TailFrom, entries: cur.Tail}, after, cur.Position)
	return k.pushed, err
}

// keepArrivalsBack is KeepBack of a queue in arrival order.
func (s *Sorter) keepArrivalsBack(ctx context.Context, cur Cursor, after, upTo int64) (int64, error) {
	k := keeping{sorter: s, queue: cur.Queue}
	expect := upTo
	for part, err := range s.partsDown(ctx, cur, after, upTo) {
		if err != nil {
			return 0, err
		}
		missing, err := k.keep(ctx, part, after, upTo)
		if err != nil {
			return 0, err
		}
		if n := len(missing); n > 0 {
			return min(missing[n-1].seqs.To, upTo), nil
		}
		expect = part.after
	}
	return min(max(expect, after), upTo), nil
}

// oldestArrival is Oldest of a queue in arrival order. It costs a strong query
// over the order items that have outlived their arrivals.
func (s *Sorter) oldestArrival(ctx context.Context, cur Cursor) (Message, bool, error) {
	first := int64(0)
	for {
		page, err := s.store.OrderItems(ctx, Query{Queue: cur.Queue, First: first, Last: cur.TailFrom, Strong: true})
		if err != nil {
			return Message{}, false, err
		}
		for _, o := range page.Items {
			first = o.Last + 1
			if e := o.ExpiresOn; !e.IsZero() && !e.Add(-orderGrace).After(s.now()) {
				continue // and so has all that it names
			}
			if head, found, err := s.oldestIn(ctx, cur.Queue, orderPart{o.after(), o.Entries, o}); err != nil || found {
				return head, found, err
			}
		}
		if !page.More {
			break
		}
	}
	return s.oldestIn(ctx, cur.Queue, orderPart{after: cur.TailFrom, entries: cur.Tail})
}

func (s *Sorter) oldestIn(ctx context.Context, queue string, part orderPart) (Message, bool, error) {
	places := part.within(part.after, MaxSeq)
	found, err := s.arrivals(ctx, queue, places, true, true)
	if err != nil {
		return Message{}, false, err
	}
	for _, p := range places {
		if a, there := found[p.Entry]; there {
			return Message{Queue: queue, Seq: p.seqs.From + 1, EnqueuedAt: a.EnqueuedAt, ExpiresOn: a.ExpiresOn}, true, nil
		}
	}
	return Message{}, false, nil
}
