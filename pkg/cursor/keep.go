package cursor

import (
	"context"
	"errors"
	"fmt"
)

// keepRun is a run of the round over all queues that keeps what is not delivered from expiring. How
// far it is within a queue is stored with the round: however large a backlog is, the next run goes
// on in it.
type keepRun struct {
	*round
	sorter    *Sorter
	delivered func(context.Context, string) (int64, bool, error)
	note      func(SweepReport, error)
}

// keepRound is a run of that round.
func (s *Sorter) keepRound(ctx context.Context, walk walking,
	delivered func(context.Context, string) (int64, bool, error),
	note func(SweepReport, error)) (Round, error) {
	if s.retention == 0 {
		return Round{}, nil
	}
	r, due, err := s.round(ctx, walk)
	if err != nil || !due {
		return Round{}, in("keeping", err)
	}
	run := keepRun{round: r, sorter: s, delivered: delivered, note: note}
	is, err := r.run(ctx, walk, run.segment)
	return is, in("keeping", err)
}

func (k *keepRun) segment(ctx context.Context, segment int) error {
	place, left := k.place(segment)
	var first error
	for left && ctx.Err() == nil {
		page, err := k.store.Cursors(ctx, cursorScan{Segment: segment, Segments: k.progress.Segments,
			After: place.After, Limit: walkPage, Only: k.only})
		if err != nil {
			return errors.Join(first, err)
		}
		first = k.passedOver(page, first)
		for _, c := range page.Cursors {
			err := k.queue(ctx, c, segment, &place)
			if ctx.Err() != nil {
				return errors.Join(first, k.reached(ctx, segment, step{place: place, left: true}))
			}
			if err != nil {
				k.note(SweepReport{Failed: 1}, nil)
				if first == nil {
					first = fmt.Errorf("queue %q: %w", c.Queue, err)
				}
			}
			place = roundPlace{After: c.Queue}
		}
		place, left = roundPlace{After: page.Next}, page.Next != ""
		// Something may wait in a queue that cannot be read, or fails.
		if err := k.reached(ctx, segment,
			step{place: place, left: left, failed: first != nil}); err != nil {
			return errors.Join(first, err)
		}
	}
	return first
}

// queue keeps what is not yet delivered of a queue, piece by piece, from where the round is in it.
func (k *keepRun) queue(ctx context.Context, cur Cursor, segment int, place *roundPlace) error {
	if cur.Erased() {
		return nil
	}
	after := cur.Position
	if k.delivered != nil {
		seq, any, err := k.delivered(ctx, cur.Queue)
		if err != nil {
			return err
		}
		if any {
			after = min(after, seq)
		}
	}
	if place.Queue == cur.Queue {
		after = max(after, place.Kept)
	}
	for {
		kept, err := inside{k.sorter}.KeepUndelivered(ctx, cur.Queue, after)
		k.note(SweepReport{Kept: kept.Pushed}, nil)
		if errors.Is(err, ErrErased) {
			return nil // since it was seen
		}
		if err != nil || !kept.More {
			return err
		}
		after = kept.To
		place.Queue, place.Kept = cur.Queue, after
		if err := k.reached(ctx, segment, step{place: *place, left: true, keep: true}); err != nil {
			return err
		}
	}
}
