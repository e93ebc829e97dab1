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

// goOnWith has a turn at the batch of acts that a wake-up is about. Where another process is at it,
// that one goes on.
func (r *waking) goOnWith(ctx context.Context, batch string) (did bool, next time.Time, err error) {
	turn, err := acts.New(r.deliverer).Turn(ctx, acts.ParseID(batch))
	countActs(r.metrics, turn)
	if turn.Next.After(time.Now()) {
		turn.Next = time.Time{}
	}
	return turn.Acted > 0, turn.Next, err
}

func countActs(metrics *emf.Metrics, did acts.Turn) {
	metrics.Count("Acts", did.Acted)
	metrics.Count("ActsFailed", did.Failed)
}
