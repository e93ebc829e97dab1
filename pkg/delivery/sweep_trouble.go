package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// walked are the states whose rows the sweep looks at, in the order of the walk: gaps, and behind
// them those that a row of a consumer can be about.
var walked = trouble.States[:slices.Index(trouble.States, trouble.CircuitOpen)]

const maxWalked = 200

// walkTroubles deletes rows of what is over, where the process that ended it did not. It goes on
// where the run before stopped, through all states and from the last to the first, until its turn
// is over, or it looked at each row.
//
// A query of half a read unit for each state and each of its nine parts, one or two reads a row,
// and one for the place.
func (s *consumerSweep) walkTroubles(ctx context.Context) error {
	store := s.deliverer.store.Trouble()
	if store == nil {
		return nil
	}
	from, err := store.Walked(ctx)
	if err != nil {
		return err
	}
	at, until := from, s.deliverer.now().Add(sweepTurn)
	// The first state may have been begun by the run before.
	for states := 0; states <= len(walked); {
		in := max(slices.Index(walked, at.State), 0)
		page, next, err := store.Page(ctx, walked[in], "", at.After, maxWalked)
		if err != nil {
			return err
		}
		s.endTroubles(ctx, page)
		at = trouble.Place{State: walked[in], After: next}
		if next == "" {
			at.State = walked[(in+1)%len(walked)]
			states++
		}
		if !s.deliverer.hasTime(ctx, until, s.deliverer.margin) {
			break
		}
	}
	if at == from {
		return nil
	}
	return store.SaveWalked(ctx, at)
}

// endTroubles deletes those rows of a page that are over. One that cannot be read is left to the
// next round of the walk.
func (s *consumerSweep) endTroubles(ctx context.Context, page []trouble.Row) {
	d := s.deliverer
	d.forEach(len(page), func(i int) {
		row := page[i]
		over, err := d.isOver(ctx, row, s.options)
		if err == nil && over {
			err = d.store.Trouble().Delete(ctx, row)
		}
		if err != nil {
			s.fail(fmt.Errorf("sweep of %s of queue %q: %w", row.State, row.Queue, err))
		}
	})
}

// isOver reports whether a queue, or a consumer, is not in the state of a row any more.
func (d *Deliverer) isOver(ctx context.Context, row trouble.Row,
	options SweepOptions) (bool, error) {
	if row.State == trouble.Gap {
		cur, err := d.queueOf(ctx, row)
		return err == nil && (!cur.GapOpen() || cur.Position >= row.Seq), err
	}
	c, err := d.store.Consumer(ctx, row.Queue, row.Consumer)
	if err != nil || !c.Exists() {
		return err == nil, err
	}
	switch row.State {
	case trouble.Replying:
		return c.State != Sending || !c.LeaseUntil.Before(ddb.ToMillis(d.now())), nil
	case trouble.Lagging, trouble.Missing:
		return d.isServed(ctx, row, c, options.LagAfter)
	case trouble.Failing:
		return !c.Retries(), nil
	}
	is := func(o trouble.Row) bool { return o.State == row.State }
	return !slices.ContainsFunc(troubles(c), is), nil
}

// isServed reports whether the next message of a consumer is there, and is not old, whichever of
// these the row is about.
func (d *Deliverer) isServed(ctx context.Context, row trouble.Row, c Consumer,
	lagAfter time.Duration) (bool, error) {
	cur, err := d.queueOf(ctx, row)
	if err != nil || cur.Position <= c.Delivered {
		return err == nil, err
	}
	if row.State == trouble.Lagging && c.Token.N == row.N {
		return false, nil // nothing was claimed since
	}
	since, missing, err := d.waiting(ctx, c)
	if err != nil {
		return false, err
	}
	if row.State == trouble.Missing {
		return !missing, nil
	}
	return missing || d.now().Sub(since) < lagAfter, nil
}

// queueOf is the queue of a row; or the zero Cursor.
func (d *Deliverer) queueOf(ctx context.Context, row trouble.Row) (cursor.Cursor, error) {
	cur, err := d.sorter.Status(ctx, row.Queue)
	if errors.Is(err, cursor.ErrNoQueue) || isErased(err, row.Queue) {
		return cursor.Cursor{}, nil
	}
	return cur, err
}
