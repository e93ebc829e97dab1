package delivery

import (
	"context"
	"errors"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// reply ends a claim whose batch was delivered and answered: it stages the replies, decides that
// the claim is to be committed, sends them, and finishes.
func (run *delivery) reply(ctx context.Context, c Consumer, b Batch,
	replies []Reply) (Consumer, error) {
	held := b.Held()
	var outbox []outgoing
	var staged []cursor.Arrival
	for _, p := range held.parcels(replies) {
		var one []cursor.Arrival
		kind := cursor.KindArrival
		if p.Numbered {
			kind = cursor.KindNumbered
		}
		err := run.knowsQueue(ctx, p.Queue)
		if err == nil {
			one, err = run.sorter.Inside(queuelog.Inside{}).Stage(ctx, kind, p.staged(held)...)
		}
		switch {
		case isA[*cursor.InvalidError](err):
			return run.fail(ctx, c, Batch{}, &replyError{Queue: p.Queue, Err: err})
		case err != nil:
			return c, &replyError{Queue: p.Queue, Err: err}
		}
		outbox, staged = append(outbox, p.outgoing), append(staged, one...)
	}
	c, decided, err := run.store.Decide(ctx, heldBy(c), outbox)
	if err != nil || !decided {
		if err == nil {
			run.lost(c)
		}
		return c, err
	}
	run.handedOn(ctx, b)
	if c.Token != b.Token || c.State != Sending {
		// The answer was lost for so long that another finished it: the claim that is stored there
		// now is not ours.
		return c, nil
	}
	finished, err := run.forward(ctx, c, staged)
	if err != nil {
		return c, run.replying(err)
	}
	return finished, nil
}

// replying distinguishes a queue that is full from a store that failed.
func (run *delivery) replying(err error) error {
	if errors.Is(err, errFull) {
		run.end(Full, "")
		run.Cause = err
		return nil
	}
	return err
}
