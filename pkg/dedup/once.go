package dedup

import (
	"context"
	"time"
)

// Once runs the effect if nobody has done it for this id, and returns its result; otherwise it
// returns the remembered result, and waits for it where another call runs the effect right now.
//
// The context that the effect gets ends with the lease, with [ErrLeaseOver] as its cause: from then
// on another call may run the effect. [RunOf] says in it which attempt this is. An effect that runs
// a second time after a crash must find what the first one did outside: effects outside the table
// are at least once.
//
// payload, where given, is what came with the id, in any number of parts: the same id with another
// payload is refused. Only its hash is stored.
//
// An error of the effect is returned as it is; what becomes of the id then is said by
// Options.OnError. Other errors: [InvalidError], [StillRunningError], [PayloadMismatchError],
// [QuarantinedError], [RememberedError], [RowError], [ErrNoTime] and those of the store: the effect
// did not run. [LostError], [NotRememberedError] and the [InvalidError] of the field result: it
// ran, and the Outcome has its value.
//
// An effect that uses another Deduplicator may fail with the same types. What is known of this call
// is in the Outcome: beside an error, its Attempt is 0 unless the effect ran here and returned no
// error.
func (d *Deduplicator[ID, R]) Once(ctx context.Context, id ID,
	effect func(context.Context) (R, error), payload ...[]byte) (out Outcome[R], err error) {
	if effect == nil {
		return out, missing("effect")
	}
	if d != nil && d.options.Off {
		if out.Value, err = effect(ctx); err != nil {
			return Outcome[R]{}, err
		}
		return out, nil
	}
	k, err := d.Key(id)
	if err != nil {
		return out, err
	}
	a := request{key: k, payload: payloadHash(payload)}
	ctx, end := d.begin(ctx, "once", k)
	defer func() { d.flights.end(k, a.shared); end(err) }()
	started, err := d.start(ctx, &a)
	if err != nil || started.Attempt == nil {
		return started.Duplicate, err
	}
	out, err = d.run(ctx, started.Attempt, effect)
	a.shared.found = started.Attempt.remembered
	return out, err
}

// Unprotected runs an effect that has no id: as often as it is called, with a warning in the log
// and an [EventUnprotected].
func (d *Deduplicator[ID, R]) Unprotected(ctx context.Context,
	effect func(context.Context) (R, error)) (R, error) {
	if err := d.made(); err != nil {
		var none R
		return none, err
	}
	d.note(ctx, EventUnprotected, Row{Key: Key{Processor: d.processor}})
	return effect(ctx)
}

// settleTime bounds how long the end of an effect may take to be stored when the caller's context
// has ended meanwhile.
const settleTime = 5 * time.Second

func (d *Deduplicator[ID, R]) run(ctx context.Context, a *Attempt[ID, R],
	effect func(context.Context) (R, error)) (Outcome[R], error) {
	value, err := d.guarded(ctx, a, effect)
	// What the effect did has happened, whether the caller still waits or not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err != nil {
		// The caller must get the effect's own error. Where it could not be stored, the lease runs
		// out.
		_ = a.Fail(ctx, err)
		return Outcome[R]{}, err
	}
	out := Outcome[R]{Value: value, Attempt: a.run.Attempt}
	return out, a.Complete(ctx, value)
}

// guarded runs the effect within its lease. An effect that panics, or ends its goroutine, has
// failed.
func (d *Deduplicator[ID, R]) guarded(ctx context.Context, a *Attempt[ID, R],
	effect func(context.Context) (R, error)) (R, error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		_ = a.Fail(ctx, errPanicked)
	}()
	within, cancel := context.WithTimeoutCause(ctx,
		a.run.LeaseUntil.Sub(d.options.Now()), ErrLeaseOver)
	defer cancel()
	value, err := effect(&runContext{within, a.run})
	returned = true
	return value, err
}

// replay is the remembered outcome, as a duplicate gets it.
func (d *Deduplicator[ID, R]) replay(ctx context.Context, found remembered) (Outcome[R], error) {
	d.note(ctx, EventDuplicate, found.row)
	if found.row.Failed {
		return Outcome[R]{}, &RememberedError{Key: found.row.Key, Message: found.row.Error}
	}
	out := Outcome[R]{
		Replayed: true, Omitted: !found.kept,
		Attempt: found.row.Attempt, CompletedAt: found.row.CompletedAt,
	}
	if found.kept {
		var err error
		if out.Value, err = d.decode(found.row, found.stored); err != nil {
			return Outcome[R]{}, err
		}
	}
	return out, nil
}

// Run describes an effect's run to it.
type Run struct {
	Key Key
	// Attempt counts the claims, from 1. From 2 on, an earlier run began and was not completed: it
	// may have had its effect.
	Attempt int64
	// Fence rises with every claim of the key: a system that refuses a lower fence than it has seen
	// fences off an owner whose lease is over.
	Fence int64
	// LeaseUntil is when the lease ends.
	LeaseUntil time.Time
}

type runContext struct {
	context.Context
	run Run
}

type runKey struct{}

func (c *runContext) Value(key any) any {
	if key == (runKey{}) {
		return &c.run
	}
	return c.Context.Value(key)
}

// RunOf is the run that a context belongs to, and false outside an effect.
func RunOf(ctx context.Context) (Run, bool) {
	run, found := ctx.Value(runKey{}).(*Run)
	if !found {
		return Run{}, false
	}
	return *run, true
}
