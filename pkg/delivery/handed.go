package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Handed is a batch that was handed to a [Reader], and when.
type Handed struct {
	Batch Batch
	// Claimed is when its claim was made, Returned when the handler returned, and Committed when
	// the commit was answered, by this process's clock. Committed is the zero time where this
	// process did not commit it: it failed, another ended its claim, or it is deferred.
	Claimed, Returned, Committed time.Time
	// Err is why the handler failed.
	Err error
}

// tell tells the reader what became of the batch that was delivered last.
func (run *delivery) tell(batch Batch, committed time.Time, err error) {
	if run.reader.Handed != nil {
		run.reader.Handed(Handed{Batch: batch, Claimed: run.claimed, Returned: run.returned,
			Committed: committed, Err: err})
	}
}

// handedOn counts a batch that is committed, and notes that the sink took it. One of nothing but
// skipped messages says nothing of the sink: most are not asked for it.
func (run *delivery) handedOn(ctx context.Context, done Batch) {
	run.tell(done, run.now(), nil)
	run.store.NoteTaken(ctx, run.Record)
	switch {
	case len(done.Messages) > 0:
		run.noteTaken(ctx, run.learnt, run.claimed, run.probe > 0)
	case run.probe > 0:
		run.noteFailure(ctx, run.failed(run.Record))
	}
	run.Batches++
	run.Messages += len(done.Messages)
	run.Skipped += len(done.Skipped)
}

func (run *delivery) hand(ctx context.Context, batch Batch, leaseUntil time.Time) (err error) {
	began := run.now()
	run.handed = began
	end := leaseUntil.Add(-run.margin)
	if deadline, ok := ctx.Deadline(); ok {
		end = deadline.Add(-run.margin)
	}
	ctx, cancel := context.WithTimeout(ctx, end.Sub(began))
	defer cancel()
	if run.inline > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, run.inline, errSlow)
		defer cancel()
	}
	defer func() {
		run.returned = run.now()
		took := run.returned.Sub(began)
		run.longest = max(run.longest, took)
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			slog.ErrorContext(ctx, "the handler panicked", "queue", batch.Queue, "consumer", batch.Consumer,
				"panic", p, "stack", string(debug.Stack()))
		}
		cut := err != nil && errors.Is(context.Cause(ctx), errSlow)
		if most := run.asideOf(run.reader); cut || most > 0 && took > most {
			run.slow.note(run.Queue, run.Consumer, run.now().Add(slowFor))
		}
		if cut {
			err = slowError{marked{err}}
		}
	}()
	if err := run.reader.Handle(ctx, batch); err != nil {
		return err
	}
	replies, err := batch.Replies()
	if len(replies) > 0 && *batch.deferred != 0 {
		err = errors.Join(err, errNoReplies)
	}
	return err
}
