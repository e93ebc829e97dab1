// Package margin ends an invocation's work before Lambda ends the invocation: what is under way
// then is answered for, and gone on with by the next one.
package margin

import (
	"context"
	"time"
)

// Keep returns a context that ends before an invocation's own does, by that much, or by a fifth of
// the time that there is where that is less. One without an end stays so.
func Keep(ctx context.Context, margin time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(margin, time.Until(deadline)/5)))
}

// Half tells whether half of the time is left that there is now: who works so long on one thing
// leaves the others theirs. Where there is no end it is true.
func Half(ctx context.Context) func() bool {
	deadline, ok := ctx.Deadline()
	if !ok {
		return func() bool { return true }
	}
	half := time.Until(deadline) / 2
	return func() bool { return time.Until(deadline) > half }
}

// Most returns a context that ends when seven eighths of the time are over that there is: who works
// in it leaves the rest to who comes behind.
func Most(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/8))
}

// lastWithin is how long that may take which is noted when the time is up.
const lastWithin = 2 * time.Second

// Last returns a context for noting where the work stopped, also where the one given has ended.
func Last(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
}
