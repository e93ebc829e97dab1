package main

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/emf"
)

// sweepActs has a turn at each batch of acts that is open, and has those woken up at once that
// have to go on.
func (s *sweeper) sweepActs(ctx context.Context, metrics *emf.Metrics) error {
	did, goOn, err := acts.New(s.deliverer).Open(ctx)
	countActs(metrics, did)
	for _, id := range goOn {
		s.timer.Acts(id.String(), time.Now())
	}
	return err
}

// goOnWith has a turn at the batch of acts that a wake-up is about. Where that does not last for all of it,
// it is woken up again at once; where another process is at it, that one goes on.
func (r *waking) goOnWith(ctx context.Context, batch string) (did acts.Turn, more bool, err error) {
	did, err = acts.New(r.deliverer).Turn(ctx, acts.ParseID(batch))
	countActs(r.metrics, did)
	return did, err == nil && !did.Next.IsZero() && !did.Next.After(time.Now()), err
}

func countActs(metrics *emf.Metrics, did acts.Turn) {
	metrics.Count("Acts", did.Acted)
	metrics.Count("ActsFailed", did.Failed)
}
