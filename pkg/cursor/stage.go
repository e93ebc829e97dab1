package cursor

import (
	"context"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Staged is an arrival that is stored and was not given a place: nobody sees it
// before [Sorter.Place], and it expires where that never comes. The zero Staged
// is none.
type Staged struct{ arrival Arrival }

// Queue is the arrival's queue, ID its id.
func (s Staged) Queue() string { return s.arrival.Queue }

// ID is the arrival's id.
func (s Staged) ID() string { return s.arrival.ID }

// Messages are the arrival's, without seqs.
func (s Staged) Messages() []Message { return s.arrival.Messages }

// Stage stores arrivals and gives them no places. Their queues are made where
// they are not there, and must be of the kind: those of KindNumbered are only
// kept here, for a caller who puts their messages later.
//
// The answers are in the order of the arrivals. It stops at the first that is
// not staged, with an error: an [InvalidError] where an arrival can never be,
// because it is out of its bounds, its queue is of the other kind, or another
// one stands under its id. What was staged before it is seen by nobody.
//
// One write an arrival; a read of half a unit where this Sorter has not seen the
// queue lately.
//
// Lost response: the repeat finds what is staged. Another stages the same: the
// same. We die right after: it expires.
func (s *Sorter) Stage(ctx context.Context, kind Kind, arrivals ...Arrival) ([]Staged, error) {
	staged := make([]Staged, len(arrivals))
	for i, a := range arrivals {
		if err := a.validate(); err != nil {
			return nil, err
		}
		a.Digest = a.digest()
		cur, err := s.lookToStage(ctx, kind, a.Queue)
		if err != nil {
			return nil, err
		}
		new := &appending{Arrival: a}
		if err := s.storeArrival(ctx, new, cur); err != nil {
			return nil, err
		}
		if new.result.Outcome == Conflict {
			return nil, &InvalidError{Field: "id", Code: invalid.Clash, Problem: "is that of another arrival", Queue: a.Queue}
		}
		staged[i].arrival = new.Arrival
	}
	return staged, nil
}

// lookToStage is a position that the queue has had, and the look that the queue
// is of a kind.
func (s *Sorter) lookToStage(ctx context.Context, kind Kind, queue string) (Cursor, error) {
	look := s.lookToAppend
	if kind == KindNumbered {
		look = s.look
	}
	cur, err := look(ctx, queue)
	if err == nil && cur.Settings.Kind != kind {
		err = &InvalidError{Field: "queue", Code: invalid.Clash, Problem: "does not take it: " + cur.Settings.Kind.is(), Queue: queue}
	}
	return cur, err
}

// Recall reads a staged arrival, or one that has its place already; found is
// false where none is stored. 1 read unit for each 4 KB.
func (s *Sorter) Recall(ctx context.Context, queue, id string) (staged Staged, found bool, err error) {
	read, left, err := s.store.Arrivals(ctx, ArrivalQuery{Queue: queue, Keys: []SortKey{HashOf(id)}, Strong: true})
	switch {
	case err != nil:
		return Staged{}, false, err
	case len(left) > 0:
		return Staged{}, false, ErrThrottled
	case len(read) == 0 || read[0].ID != id:
		return Staged{}, false, nil
	}
	return Staged{read[0]}, true, nil
}

// Place gives a staged arrival its seqs, as [Sorter.Append] does: its Outcome is
// Advanced also where an earlier call gave them. It may be repeated, by anybody,
// for as long as the arrival is kept.
//
// One write; what keeps the cursor small comes on top, as in Append.
func (s *Sorter) Place(ctx context.Context, staged Staged) (Appended, error) {
	a := &appending{Arrival: staged.arrival, mine: true, seen: staged.arrival.Seen}
	a.due = s.expiresSoon(a.ExpiresOn)
	a.result.Queue = a.Queue
	err := s.allocateAll(ctx, []*appending{a})
	if err == nil {
		err = a.result.Err
	}
	return a.result, err
}
