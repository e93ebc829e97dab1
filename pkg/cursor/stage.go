package cursor

import (
	"context"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Stage stores messages without seqs, those of one queue and PutID as one arrival, and gives them
// no places. Their queues are made where they are not there, and must be of the kind: those of
// KindNumbered are only stored here, for a caller who puts their messages later.
//
// The answers are in the order of the first messages of each. It stops at the first that is not
// staged, with an error: an [InvalidError] where an arrival can never be, because it is out of its
// bounds, its queue is of the other kind, or another one stands under its id. What was staged
// before it is seen by nobody.
//
// One write an arrival; a read of half a unit where this Sorter has not seen the queue lately.
//
// Lost response: the repeat finds what is staged. Another stages the same: the same. We die right
// after: it expires.
func (s inside) Stage(ctx context.Context, kind Kind, messages ...Message) ([]Arrival, error) {
	parts, err := group(messages)
	if err != nil {
		return nil, err
	}
	var staged []Arrival
	for _, p := range parts {
		cur, err := s.lookToStage(ctx, kind, p.queue)
		if err != nil {
			return nil, err
		}
		for _, a := range p.arrivals {
			if err := s.storeArrival(ctx, a, cur); err != nil {
				return nil, err
			}
			if a.result.Outcome == Conflict {
				return nil, &InvalidError{Field: "id", Code: invalid.Clash,
					Problem: "is that of another arrival", Queue: a.Queue}
			}
			staged = append(staged, a.Arrival)
		}
	}
	return staged, nil
}

// lookToStage is a position that the queue has had, and the look that the queue is of a kind.
func (s *Sorter) lookToStage(ctx context.Context, kind Kind, queue string) (Cursor, error) {
	look := s.lookOnly
	if kind == KindArrival {
		look = s.lookToLog
	}
	cur, err := look(ctx, queue)
	if err == nil && !cur.Exists() {
		cur, err = s.create(ctx, queue, s.settingsOf(kind))
	}
	if err == nil && cur.Settings.Kind != kind {
		err = &InvalidError{Field: "queue", Code: invalid.Clash,
			Problem: "does not take it: " + cur.Settings.Kind.is(), Queue: queue}
	}
	return cur, err
}

// Recall reads a staged arrival, or one that has its place already; found is false where none is
// stored. 1 read unit for each 4 KB.
func (s inside) Recall(ctx context.Context,
	queue, id string) (staged Arrival, found bool, err error) {
	read, left, err := s.store.Arrivals(ctx,
		queuelog.ArrivalQuery{Queue: queue, Keys: []sortkey.SortKey{sortkey.HashOf(id)}, Strong: true})
	switch {
	case err != nil:
		return Arrival{}, false, err
	case len(left) > 0:
		return Arrival{}, false, ErrThrottled
	case len(read) == 0 || read[0].ID != id:
		return Arrival{}, false, nil
	}
	return read[0], true, nil
}

// Place gives a staged arrival its seqs, as [Sorter.Put] does: its Outcome is Advanced also where
// an earlier call gave them, and its Seq is that of the first message. It may be repeated, by
// anybody, for as long as the arrival is retained.
//
// One write; what keeps the cursor small comes on top, as in Put.
func (s inside) Place(ctx context.Context, staged Arrival) Result {
	var results [1]Result
	a := &incoming{Arrival: staged, places: []int{0}, mine: true, seen: staged.Seen}
	a.finish(s.allocateAll(ctx, []*incoming{a}))
	a.answer(results[:])
	return results[0]
}
