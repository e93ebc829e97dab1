package cursor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// The log of a queue in arrival order and that of a keyed one are one thing: what comes is stored,
// looked for in the tail of the cursor and in the order items, extended while it has no place, and
// flushed out of the tail. They differ in how places are given: by an allocation that writers share
// (append.go), and by a settle that compares the position (settle.go).

// incoming is an arrival on its way into the log of a queue, or one that is looked for there.
type incoming struct {
	Arrival
	// places are those of its messages in the call; of one that is in the call several times, all.
	places []int
	// together: its messages have one PutID.
	together bool
	// parts are those of its key.
	parts []any
	// mine is set when this call stored it.
	mine bool
	// seen is a seq up to which it is sure to have no place.
	seen int64
	// found and at say where it has its place; stale that nobody can say any more; placed that this
	// call gave it its place, by the move.
	found, stale, placed bool
	at                   place
	moved                Range
	result               Result
}

// open reports whether nothing was found out about it.
func (a *incoming) open() bool {
	return !a.found && !a.stale && a.result.Outcome == "" && a.result.Err == nil
}

// open are those of which nothing was found out.
func open(all []*incoming) []*incoming {
	var left []*incoming
	for _, a := range all {
		if a.open() {
			left = append(left, a)
		}
	}
	return left
}

// finish answers for one that was looked for in the log, and for one that is open by an error.
func (a *incoming) finish(err error) {
	switch {
	case a.stale:
		a.result.Outcome = Stale
	case a.found:
		a.result.Outcome = Duplicate
		a.result.Late, a.result.Unlinked, a.result.Placed = a.at.Has(queuelog.MarkLate),
			a.at.Has(queuelog.MarkUnlinked), a.placed
		switch {
		case a.mine && a.at.Has(queuelog.MarkDropped):
			a.result.Outcome = Dropped
		case a.mine:
			a.result.Outcome = Advanced
		}
	case a.open():
		a.result.Err = err
	}
}

func (a *incoming) answer(results []Result) {
	for n, place := range a.places {
		r := a.result
		r.Queue, r.Seq = a.Queue, NoSeq
		if a.found {
			r.Seq, r.Old, r.New = a.at.seqs.From+1, a.at.seqs.To, a.at.seqs.To
			if a.together {
				r.Seq += int64(n)
			}
		}
		switch twice := n > 0 && !a.together; {
		case twice && (r.Outcome == Advanced || r.Outcome == Waiting || r.Outcome == Dropped):
			r.Outcome, r.Placed = Duplicate, false
		case !twice && a.moved != Range{}:
			r.Old, r.New, r.Moves = a.moved.From, a.moved.To, []Range{a.moved}
		}
		results[place] = r
	}
}

// place is an entry and the seqs that it takes.
type place struct {
	queuelog.Entry
	seqs Range
}

// placesOf are entries with their seqs, where the first one's is after+1.
func placesOf(entries queuelog.Tail, after int64) iter.Seq[place] {
	return func(yield func(place) bool) {
		for e := range entries.All() {
			at := Range{after, after + int64(e.Count)}
			if !yield(place{e, at}) {
				return
			}
			after = at.To
		}
	}
}

// lookToLog is step 0: a position that the queue has had, before anything is stored. Any older one
// is right, but what was placed since may have to be searched, so what is remembered is used only
// while it is young.
func (s *Sorter) lookToLog(ctx context.Context, queue string) (Cursor, error) {
	if cur, ok := s.seen.getToAppend(queue); ok {
		return cur, nil
	}
	return s.remembering(func() (Cursor, error) { return s.store.Cursor(ctx, queue, false) })
}

// storeAll is step 1 for all that are open: each is stored once for its id, as long as it is
// retained. Steps 1 and 2 are, where nothing else happens, one write an arrival and one for each 25
// arrivals; two more for each 24.
func (s *Sorter) storeAll(ctx context.Context, all []*incoming, cur Cursor) {
	s.forEach(len(all), func(i int) {
		if all[i].open() {
			all[i].result.Err = s.storeArrival(ctx, all[i], cur)
		}
	})
}

// storeArrival is step 1: the arrival is stored, or what is stored under its key is looked at. It
// has no place yet.
func (s *Sorter) storeArrival(ctx context.Context, a *incoming, cur Cursor) error {
	a.Op, a.EnqueuedAt, a.ExpiresOn, a.Seen = s.newOp(), ddb.ToMillis(s.now()),
		s.expiry(), cur.Position
	there, err := s.store.PutArrival(ctx, a.Arrival)
	if err != nil {
		return err
	}
	if !a.same(there) {
		a.result.Outcome = Conflict
		return nil
	}
	a.mine = bytes.Equal(a.Op, there.Op)
	// From here on, what the one that is stored has seen counts, and when it came.
	a.Seen, a.EnqueuedAt, a.ExpiresOn = there.Seen, there.EnqueuedAt, there.ExpiresOn
	a.seen = there.Seen
	return nil
}

// lookUp is step 3: it finds out which of the arrivals have a place in the log of the queue, as its
// cursor was seen: in the tail, or in the order items behind what each had seen. One that is open
// after that has none up to the tail, and that part never changes; in the tail it has none as long
// as the position is the same.
//
// It ends when all are found. An arrival whose place can be in a part that is not known any more
// (an order item is missing, or the arrival has seen a position that the queue has not had, since
// tables were restored) is stale: another place would be a second one. searched reports that order
// items were read.
func (s *Sorter) lookUp(ctx context.Context, all []*incoming,
	cur Cursor) (searched bool, err error) {
	byKey := make(map[sortkey.SortKey]*incoming, len(all))
	for _, a := range all {
		if a.Seen > cur.Position {
			a.stale = true
		} else {
			byKey[a.sortKey()] = a
		}
	}
	look := func(entries queuelog.Tail, after int64) {
		for p := range placesOf(entries, after) {
			if a := byKey[p.Key]; a != nil && p.Same(a.entry()) && p.seqs.From >= a.Seen {
				a.found, a.at = true, p
				delete(byKey, p.Key)
			}
		}
	}
	look(cur.Tail, cur.TailFrom)
	for _, a := range byKey {
		if cur.without(a.entry(), a.seen) {
			a.seen = max(a.seen, cur.TailFrom)
		}
	}
	least := func() int64 {
		least := cur.TailFrom
		for _, a := range byKey {
			least = min(least, a.seen)
		}
		return least
	}
	searched = least() < cur.TailFrom
	unknown, err := s.readLog(ctx, cur, least, look)
	if err != nil {
		return searched, err
	}
	for _, a := range byKey {
		a.stale = a.seen < unknown
		a.seen = max(a.seen, cur.TailFrom)
	}
	return searched, nil
}

// keepStored pushes the expiry of those arrivals that expire soon. One that is gone has
// [ErrExpired].
func (s *Sorter) keepStored(ctx context.Context, all []*incoming) []error {
	errs := make([]error, len(all))
	s.forEach(len(all), func(i int) {
		if !s.expiresSoon(all[i].ExpiresOn) {
			return
		}
		there, err := s.store.KeepArrival(ctx, all[i].Queue, all[i].sortKey(), all[i].Seen, s.expiry())
		if err == nil && !there {
			err = ErrExpired
		}
		errs[i] = err
	})
	return errs
}

// flushAfter flushes the tail if the allocation of so many entries, which made it what it is,
// filled an order item: that is one writer's. Should it die, those do it who find no room.
//
// During the two requests of a flush each of w other writers gets about one allocation, for which
// there is room in the tail.
func (s *Sorter) flushAfter(ctx context.Context, cur Cursor, entries int) {
	if now := cur.Tail.Len(); now < queuelog.OrderItemEntries ||
		now-entries >= queuelog.OrderItemEntries {
		return
	}
	// The places are given: a failure is for those who find no room.
	_, _ = s.flush(ctx, cur, queuelog.OrderItemEntries-1)
}

// flush is step 4: it takes entries out of the tail, OrderItemEntries an order item, until it has
// at most that many. A tail must not grow without bounds: one update could not trim it then.
func (s *Sorter) flush(ctx context.Context, cur Cursor, most int) (Cursor, error) {
	for cur.Tail.Len() > most {
		// Where another trims first, and moves, the tail is as long again.
		var err error
		if cur, err = s.flushItems(ctx, cur,
			max(1, (cur.Tail.Len()-1)/queuelog.OrderItemEntries)); err != nil {
			return Cursor{}, err
		}
	}
	return cur, nil
}

// flushItems takes the entries of n order items out of the tail as it was seen. First the order
// items are stored, then the tail is trimmed, so that an entry is always in one of them. All of it
// may be done twice, by anybody: the first entries of a tail never change.
func (s *Sorter) flushItems(ctx context.Context, cur Cursor, n int) (Cursor, error) {
	items, errs := make([]queuelog.OrderItem, n), make([]error, n)
	rest, last := cur.Tail, cur.TailFrom
	for i := range items {
		var first queuelog.Tail
		first, rest = rest.First(queuelog.OrderItemEntries)
		last += first.Seqs()
		items[i] = queuelog.OrderItem{Queue: cur.Queue, Last: last, Entries: first,
			ExpiresOn: s.orderExpiry()}
	}
	s.forEach(n, func(i int) {
		there, err := s.store.PutOrderItem(ctx, items[i])
		if err == nil && there.Entries != items[i].Entries {
			err = fmt.Errorf("queue %q: the order item up to seq %d is not what the cursor's tail says",
				cur.Queue, items[i].Last)
		}
		errs[i] = err
	})
	if err := errors.Join(errs...); err != nil {
		return Cursor{}, err
	}
	return s.remembering(func() (Cursor, error) {
		trimmed, _, err := s.store.TrimTail(ctx, cur, n*queuelog.OrderItemEntries)
		return trimmed, err
	})
}

// orderGrace is how much later than the arrivals that it names an order item expires: more than
// clocks differ and an operation takes. A repeat that finds its arrival must find its place.
const orderGrace = 2 * memoAge

// orderExpiry is when an order item that is stored or pushed forward now, or a receipt, may be
// deleted.
func (s *Sorter) orderExpiry() time.Time {
	if s.retention == 0 {
		return time.Time{}
	}
	return s.expiry().Add(orderGrace)
}
