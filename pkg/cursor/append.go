package cursor

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// is says what a queue of the kind is to who puts something else.
func (k Kind) is() string {
	return map[Kind]string{
		KindNumbered: "the queue is numbered, and its producers give the seqs",
		KindArrival:  "the queue is in arrival order, and gives the seqs itself",
		KindKeyed:    "the queue is a keyed one, which sorts by keys",
	}[k]
}

// takes says what the queue is, and what to do instead of a put of another kind.
func (k Kind) takes() string {
	put := map[Kind]string{
		KindNumbered: "a seq and no key", KindArrival: "an id, no seq and no key", KindKeyed: "a key, an id and no seq",
	}[k]
	return k.is() + ": put it with " + put + ", or make a queue of another kind with PUT /queues"
}

// refusesArrivals is why a queue of the kind, which is not in arrival order, takes no arrival.
func (k Kind) refusesArrivals() error {
	if k == KindKeyed {
		return invalid.New(invalid.Missing, "key", "is missing: "+k.takes())
	}
	return invalidSeq(invalid.Missing, "is missing: "+k.takes())
}

// keepOrder has those behind one that could not be stored get no place either: a repeat would give
// it the place behind them.
func keepOrder(arrivals []*incoming) {
	var before *incoming
	for _, a := range arrivals {
		switch {
		case before != nil && a.open():
			a.result.Err = fmt.Errorf("queue %q: an arrival before it was not stored: %w", a.Queue,
				before.result.Err)
		case before == nil && a.result.Err != nil:
			before = a
		}
	}
}

// maxAllocations is how many places one request gives.
const maxAllocations = 25

// allocateAll is step 2: all that are stored get their places, in the order in which they are in
// the call, but for those that were stored before. Where one could not be stored, those behind it
// have an Err too, and get no place before its repeat.
func (s *Sorter) allocateAll(ctx context.Context, arrivals []*incoming) error {
	keepOrder(arrivals)
	if err := s.keepBeforeAllocation(ctx, arrivals); err != nil {
		return err
	}
	for waited := false; ; {
		var next []*incoming
		for _, a := range arrivals {
			if a.open() && len(next) < maxAllocations {
				next = append(next, a)
			}
		}
		if len(next) == 0 {
			return nil
		}
		full, err := s.allocate(ctx, next)
		if err != nil {
			return err
		}
		if full.Tail.Len() >= queuelog.OrderItemEntries && !waited {
			waited = true // somebody is at it
			continue
		}
		if _, err := s.flush(ctx, full, queuelog.MaxTail-len(next)); err != nil {
			return err
		}
	}
}

// allocate asks once for places, and looks what the answer means: for some of the arrivals it may
// be that they have theirs already. It returns the cursor where there is no room in its tail.
func (s *Sorter) allocate(ctx context.Context, arrivals []*incoming) (full Cursor, err error) {
	queue, seen := arrivals[0].Queue, Range{arrivals[0].seen, arrivals[0].seen}
	entries := make([]queuelog.Entry, len(arrivals))
	for i, a := range arrivals {
		entries[i], seen = a.entry(), Range{min(seen.From, a.seen), max(seen.To, a.seen)}
	}
	tail := queuelog.NewTail(entries...)
	cur, given, err := s.moving(func() (Cursor, bool, error) {
		return s.store.Allocate(ctx, queue, tail, seen, s.now())
	})
	switch {
	case err != nil:
		return Cursor{}, err
	case cur.Settings.Kind != KindArrival:
		return Cursor{}, cur.Settings.Kind.refusesArrivals()
	case given:
		moved, i := Range{cur.Position - tail.Seqs(), cur.Position}, 0
		for p := range placesOf(tail, moved.From) {
			a := arrivals[i]
			a.found, a.placed, a.at, a.moved = true, true, p, moved
			i++
		}
		s.flushAfter(ctx, cur, tail.Len())
		return Cursor{}, nil
	}
	// From here on, each reason for which it was refused leads to another allocation that has not
	// that reason, or to none.
	searched, err := s.lookFor(ctx, arrivals, cur)
	switch left := open(arrivals); {
	case err != nil:
		return Cursor{}, err
	case searched:
		s.seen.crowd(queue)
		return Cursor{}, nil
	case cur.Position > MaxSeq-tail.Seqs():
		noSeqsLeft(left, cur)
		return Cursor{}, nil
	}
	return cur, nil
}

// lookFor is lookUp for arrivals that are to get their places.
//
// One that has seen a position which the queue has not had is refused. That can only be where
// tables were restored to different times: a place before what it has seen is one that no repeat
// finds, so it has to wait until the queue has come so far again. One beside an earlier arrival's
// place that looks the same (see [Entry.Seen]) has to wait until that one has left the tail.
func (s *Sorter) lookFor(ctx context.Context, arrivals []*incoming,
	cur Cursor) (searched bool, err error) {
	for _, a := range arrivals {
		if a.Seen > cur.Position {
			a.result.Err = fmt.Errorf("queue %q: the position is %d, and the arrival under the id %q is stored as one that has seen %d: the tables are of different times", cur.Queue, cur.Position, a.ID, a.Seen)
		}
	}
	searched, err = s.lookUp(ctx, open(arrivals), cur)
	for _, a := range open(arrivals) {
		if cur.Tail.Contains(a.entry()) {
			a.result.Err = fmt.Errorf(
				"queue %q: an earlier arrival under the id %q has a place that looks the same", cur.Queue, a.ID)
		}
	}
	return searched, err
}

// noSeqsLeft answers "full" to arrivals for which a queue has no seqs: the last one where each
// would fit alone.
func noSeqsLeft(arrivals []*incoming, cur Cursor) {
	left := MaxSeq - cur.Position
	for _, a := range arrivals {
		if left -= int64(len(a.Messages)); left < 0 {
			a.result.Outcome = Full
		}
	}
}

// keepBeforeAllocation keeps arrivals that were stored before and expire soon: one that gets its
// place now must be there until it is delivered. One that has its place is left alone, for its
// order item expires when it was to.
func (s *Sorter) keepBeforeAllocation(ctx context.Context, arrivals []*incoming) error {
	var due []*incoming
	for _, a := range arrivals {
		if a.open() && s.expiresSoon(a.ExpiresOn) {
			due = append(due, a)
		}
	}
	if len(due) == 0 {
		return nil
	}
	cur, err := s.readCursor(ctx, due[0].Queue)
	if err != nil {
		return err
	}
	if _, err := s.lookFor(ctx, due, cur); err != nil {
		return err
	}
	due = open(due)
	for i, err := range s.keepStored(ctx, due) {
		due[i].result.Err = err
	}
	return nil
}
