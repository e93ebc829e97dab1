package cursor

import (
	"context"
	"errors"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
)

// keeping keeps arrivals of a queue from expiring.
type keeping struct {
	sorter *Sorter
	queue  string
	pushed int
}

// keep pushes the expiry of the arrivals that have one of the seqs after < seq <= upTo in a part,
// where it is due. It returns the places of those that are not there.
func (k *keeping) keep(ctx context.Context, part orderPart,
	after, upTo int64) (missing []place, err error) {
	kept := false
	if e := part.item.ExpiresOn; !e.IsZero() && k.sorter.expiresSoon(e.Add(-orderGrace)) {
		if err := k.keepItem(ctx, part.item); err != nil {
			return nil, err
		}
		kept = true
	}
	for places := range slices.Chunk(notDropped(part.within(after, upTo)), maxArrivals) {
		found, err := k.sorter.arrivals(ctx, k.queue, places, true, true)
		if err != nil {
			return nil, err
		}
		due := slices.ContainsFunc(places, func(p place) bool {
			a, there := found[p.Entry]
			return there && k.sorter.expiresSoon(a.ExpiresOn)
		})
		if due && !kept {
			// The order item first: it must not expire before them.
			if err := k.keepItem(ctx, part.item); err != nil {
				return nil, err
			}
			kept = true
		}
		gone, err := k.keepAll(ctx, places, found)
		if err != nil {
			return nil, err
		}
		missing = append(missing, gone...)
	}
	return missing, nil
}

// keepAll pushes the expiry of those of the arrivals found that is due. It returns the places of
// those that are not there, in their order.
func (k *keeping) keepAll(ctx context.Context, places []place,
	found map[queuelog.Entry]Arrival) (missing []place, err error) {
	all := make([]*incoming, len(places))
	for i, p := range places {
		all[i] = &incoming{Arrival: found[p.Entry]}
	}
	pushed := 0
	for i, err := range k.sorter.keepStored(ctx, all) {
		if err != nil && !errors.Is(err, ErrExpired) {
			return nil, err
		}
		if k.sorter.expiresSoon(all[i].ExpiresOn) {
			pushed++
		}
		if _, there := found[places[i].Entry]; !there || err != nil {
			missing = append(missing, places[i])
		}
	}
	k.pushed += pushed
	return missing, nil
}

func (k *keeping) keepItem(ctx context.Context, o queuelog.OrderItem) error {
	if o.Queue == "" {
		return nil // the tail does not expire
	}
	_, err := k.sorter.store.KeepUntil(ctx, k.queue, o.Last, k.sorter.orderExpiry())
	return err
}

// keepArrivals is KeepUndelivered of a queue in arrival order.
func (s *Sorter) keepArrivals(ctx context.Context, cur Cursor, after int64) (keptUpTo, error) {
	k := keeping{sorter: s, queue: cur.Queue}
	to := after
	if to < cur.TailFrom {
		// Strong: of an item that was just flushed the places are not in the tail any more. One
		// that was missed would be extended a quarter of the retention later, when only a quarter
		// may be left of it: a round that failed besides would lose what is not delivered.
		page, err := s.store.OrderItems(ctx, queuelog.Query{
			Queue: cur.Queue, First: to + 1, Last: cur.TailFrom,
			Limit: itemsFor(to, to+pieceSeqs), Strong: true,
		})
		if err != nil {
			return keptUpTo{}, err
		}
		for _, o := range page.Items {
			if _, err := k.keep(ctx, orderPart{o.After(), o.Entries, o}, after, cur.Position); err != nil {
				return keptUpTo{To: to, More: true, Pushed: k.pushed}, err
			}
			to = o.Last
		}
		if page.More {
			return keptUpTo{To: to, More: true, Pushed: k.pushed}, nil
		}
	}
	_, err := k.keep(ctx, orderPart{after: cur.TailFrom, entries: cur.Tail}, after, cur.Position)
	return keptUpTo{To: max(to, cur.Position), Pushed: k.pushed}, err
}

func (s *Sorter) keepArrivalsBack(ctx context.Context, cur Cursor,
	after, upTo int64) (keptUpTo, error) {
	k := keeping{sorter: s, queue: cur.Queue}
	low, expect := max(after, upTo-pieceSeqs), upTo
	for part, err := range s.partsDown(ctx, cur, low, upTo) {
		if err != nil {
			return keptUpTo{}, err
		}
		missing, err := k.keep(ctx, part, low, upTo)
		if err != nil {
			return keptUpTo{}, err
		}
		if n := len(missing); n > 0 {
			return keptUpTo{To: min(missing[n-1].seqs.To, upTo), Pushed: k.pushed}, nil
		}
		expect = part.after
	}
	to := min(max(expect, low), upTo)
	return keptUpTo{To: to, More: to == low && low > after, Pushed: k.pushed}, nil
}

// oldestArrival is Oldest of a queue in arrival order. It costs a strong query over the order items
// that have outlived their arrivals.
func (s *Sorter) oldestArrival(ctx context.Context, cur Cursor) (Message, bool, error) {
	first := int64(0)
	for {
		page, err := s.store.OrderItems(ctx,
			queuelog.Query{Queue: cur.Queue, First: first, Last: cur.TailFrom, Strong: true})
		if err != nil {
			return Message{}, false, err
		}
		for _, o := range page.Items {
			first = o.Last + 1
			if e := o.ExpiresOn; !e.IsZero() && !e.Add(-orderGrace).After(s.now()) {
				continue // and so has all that it names
			}
			if head, found, err := s.oldestIn(ctx, cur.Queue,
				orderPart{o.After(), o.Entries, o}); err != nil || found {
				return head, found, err
			}
		}
		if !page.More {
			break
		}
	}
	return s.oldestIn(ctx, cur.Queue, orderPart{after: cur.TailFrom, entries: cur.Tail})
}

func (s *Sorter) oldestIn(ctx context.Context, queue string,
	part orderPart) (Message, bool, error) {
	places := notDropped(part.within(part.after, MaxSeq))
	found, err := s.arrivals(ctx, queue, places, true, true)
	if err != nil {
		return Message{}, false, err
	}
	for _, p := range places {
		if a, there := found[p.Entry]; there {
			return Message{Queue: queue, Seq: p.seqs.From + 1, EnqueuedAt: a.EnqueuedAt,
				ExpiresOn: a.ExpiresOn}, true, nil
		}
	}
	return Message{}, false, nil
}
