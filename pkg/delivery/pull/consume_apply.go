package pull

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func (run *consuming) apply(ctx context.Context, a delivery.Answer) (time.Duration, error) {
	h := a.Held()
	a.Batch = a.Answerable()
	beating, stop := run.heart(ctx, h)
	err := run.db.Apply(beating, a.Batch, a.Committed, func(ctx context.Context) error {
		if _, err := a.Replies(); err != nil {
			return err
		}
		// From here on only the marker says how the claim ends.
		run.open, run.committed = &h, a.Committed
		p, err := run.claims.Prepare(ctx, h)
		if err == nil && p.Outcome != delivery.OK {
			err = refused{p.Outcome, p.Reason}
		}
		return err
	})
	stop()
	var no refused
	switch {
	case err == nil:
		return run.commit(ctx, a)
	case run.open == nil:
		// Nothing can have been committed.
		aborted, failed := run.claims.Abort(ctx, h, err.Error())
		var restored *RestoredError
		var ahead *AheadError
		switch {
		case errors.Is(err, ErrEnded), errors.As(err, &restored), errors.As(err, &ahead) &&
			failed == nil && aborted.Outcome == delivery.OK:
		case onlyPeople(err):
			// It is the effect's, about its batch alone; or it was taken over, and that other one
			// committed; or nobody knows.
			err = errors.New(err.Error())
		}
		return run.failed(a.Batch, errors.Join(err, failed))
	case errors.As(err, &no) && no.outcome != delivery.InDoubt:
		run.open = nil
		run.Observe(Step{Outcome: delivery.Lost, Batch: a.Batch, Err: err})
		return 0, nil
	}
	wait, fatal := run.failed(a.Batch, err)
	if fatal != nil {
		return wait, fatal
	}
	if err := run.settle(ctx, h, a.Committed, err.Error()); err != nil {
		return run.failed(a.Batch, err)
	}
	return wait, nil
}

// commit says that a claim is committed, and goes on with the next one in the same write where it
// can. Where that fails the claim stays open, and is settled next; the next claim, if it was made,
// answers to its request.
func (run *consuming) commit(ctx context.Context, a delivery.Answer) (time.Duration, error) {
	h := a.Held()
	replies, _ := a.Replies() // with one that was refused it is not prepared
	done, next, err := run.claims.CommitAndClaim(ctx, h, run.request(), replies...)
	if err == nil && done.Outcome == delivery.Full {
		err = errFull
	}
	if err != nil {
		return run.failed(a.Batch, err)
	}
	run.open, run.next = nil, next
	if next.Outcome != "" {
		run.req = ""
	}
	if rolledBack(done) {
		return run.failed(a.Batch, fmt.Errorf("%w: claim %v, %s %s", ErrContradiction, h.Token,
			done.Outcome, done.Reason))
	}
	run.failures = 0
	run.Observe(Step{Outcome: delivery.OK, Batch: a.Batch})
	return 0, run.forget(ctx, a)
}

// forgetEvery is how many claims there are between two deletions of markers.
const forgetEvery = 100

// forget deletes old markers now and then. What is not settled is kept.
func (run *consuming) forget(ctx context.Context, a delivery.Answer) error {
	under := a.Token.N - run.KeepMarkers
	for _, h := range a.Unsettled {
		under = min(under, h.Token.N)
	}
	if a.Token.N%min(forgetEvery, run.KeepMarkers) != 0 || under < 1 {
		return nil
	}
	if err := run.db.Forget(ctx, run.queue, run.consumer, under); err != nil {
		run.Observe(Step{Batch: a.Batch, Err: err}) // the next one does it
	}
	return nil
}

// heart extends a claim's lease until stop is called. Its context ends where the claim is
// another's.
func (run *consuming) heart(ctx context.Context,
	h delivery.Held) (beating context.Context, stop func()) {
	if run.Beat < 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for pause.For(ctx, run.Beat) == nil {
			// One that fails is made up for by the next.
			a, err := run.claims.Extend(ctx, h, run.Lease)
			if err == nil && a.Outcome != delivery.OK {
				cancel(refused{a.Outcome, a.Reason})
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-stopped
	}
}
