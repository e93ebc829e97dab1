package cursor

import (
	"context"
	"fmt"
)

// waiting is a message of a keyed queue that is looked for in the queue's log.
type waiting struct {
	Arrival
	// found and at say where it has its place; stale that nobody can say any more.
	found bool
	at    place
	stale bool
	// placed tells that this call gave it its place.
	placed bool
}

// open reports whether nothing was found out about it.
func (w *waiting) open() bool { return !w.found && !w.stale }

// lookUp is step 4: it finds out which of the messages have a place in the log of the queue,
// as its cursor was seen: in the tail, or in the order items behind what the message had
// seen. Who is open after that has none, as long as the position is the same.
//
// A place is in no order item before what its message had seen. Where an order item is
// missing between that and the tail, or the message has seen a position that the queue has
// not had (tables that were restored), nobody can say: another place would be a second one.
func (s *Sorter) lookUp(ctx context.Context, of []*waiting, cur Cursor) error {
	byKey := make(map[SortKey]*waiting, len(of))
	for _, w := range of {
		if w.Seen > cur.Position {
			w.stale = true
		} else {
			byKey[w.sortKey()] = w
		}
	}
	look := func(entries Tail, after int64) {
		for p := range entries.places(after) {
			if w := byKey[p.Key]; w != nil && p.same(w.entry()) && p.seqs.From >= w.Seen {
				w.found, w.at = true, p
				delete(byKey, p.Key)
			}
		}
	}
	look(cur.Tail, cur.TailFrom)
	unknown, err := s.readLog(ctx, cur, func() int64 {
		least := cur.TailFrom
		for _, w := range byKey {
			least = min(least, w.Seen)
		}
		return least
	}, look)
	if err != nil {
		return err
	}
	for _, w := range byKey {
		w.stale = w.Seen < unknown
	}
	return nil
}

// placeLate gives late messages of a queue their places, behind all others. Those that have
// one get that. They are at or under the watermark of the cursor, which was read strongly.
//
// A move that fails is followed by a pause and another look at the cursor: all is looked up
// anew, for what was found out is of one position. Low stays: nothing was read that it could
// speak for.
func (s *Sorter) placeLate(ctx context.Context, late []*waiting, cur Cursor) error {
	for losses := 0; ; {
		var err error
		if cur, err = s.flushKeyed(ctx, cur); err != nil {
			return err
		}
		if err := s.lookUp(ctx, open(late), cur); err != nil {
			return err
		}
		left := open(late)
		if len(left) == 0 {
			return nil
		}
		batch := left[:min(len(left), maxPlacing)]
		kept, err := s.keepWaiting(ctx, batch)
		if err == nil && !kept {
			err = ErrExpired
		}
		if err != nil {
			return err
		}
		given := false
		if cur, given, err = s.givePlaces(ctx, cur, batch, nil, cur.Low); err != nil {
			return err
		}
		if !given {
			if losses++; losses > maxLosses {
				return fmt.Errorf("queue %q: others gave places each time: %w", cur.Queue, ErrThrottled)
			}
			if err := s.waitAfterLoss(ctx, losses); err != nil {
				return err
			}
			if cur, err = s.readCursor(ctx, cur.Queue); err != nil {
				return err
			}
		}
	}
}

// open are those of which nothing was found out.
func open(all []*waiting) []*waiting {
	var left []*waiting
	for _, w := range all {
		if w.open() {
			left = append(left, w)
		}
	}
	return left
}

// keepWaiting keeps messages from expiring that are about to get their places, where that
// is soon. It reports whether all are there.
func (s *Sorter) keepWaiting(ctx context.Context, all []*waiting) (kept bool, err error) {
	there, errs := make([]bool, len(all)), make([]error, len(all))
	s.forEach(len(all), func(i int) {
		if there[i] = !s.expiresSoon(all[i].ExpiresOn); !there[i] {
			there[i], errs[i] = s.store.KeepArrival(ctx, all[i].Queue, all[i].sortKey(), all[i].Seen, s.expiry())
		}
	})
	kept = true
	for i := range all {
		kept = kept && there[i]
		if errs[i] != nil {
			return false, errs[i]
		}
	}
	return kept, nil
}
