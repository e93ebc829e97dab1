package xorack

import (
	"cmp"
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Fail ends a chain as Failed, because an edge's work failed for good. An edge that has ended
// before cannot fail: [EdgeEnded].
//
// It costs one write, and up to two of the index.
func (a *Acker) Fail(ctx context.Context, e Edge, reason string) (Result, error) {
	if err := cmp.Or(e.given(), bounds.Text("reason", reason, 1, MaxReason)); err != nil {
		return Result{}, err
	}
	c, _, err := a.store.fail(ctx, e, reason, a.now())
	if err := cmp.Or(err, refused(c, e)); err != nil {
		return Result{}, err
	}
	return Result{failOutcome(c, e), c}, nil
}

func failOutcome(c Chain, e Edge) Outcome {
	switch {
	case c.Recorded == Failed && c.LastOp == e.Op():
		return Ended
	case c.Has(e.Op()):
		return EdgeEnded
	}
	return already(c.End())
}

// Extend sets the deadline of an edge's chain to a later time, at most MaxDeadline from now. One
// that is as late already stays: Applied. A chain that is not created yet is [ErrTagNotFound].
//
// It costs one write.
func (a *Acker) Extend(ctx context.Context, e Edge, deadline time.Time) (Result, error) {
	if err := e.given(); err != nil {
		return Result{}, err
	}
	deadline = ddb.ToMillis(deadline)
	if now := a.now(); !deadline.After(now) || deadline.Sub(now) > MaxDeadline {
		return Result{}, invalid.New(invalid.OutOfRange, "deadline",
			"must be ahead, by at most "+MaxDeadline.String())
	}
	c, _, err := a.store.extend(ctx, e.tag, e.inc, deadline)
	switch err = cmp.Or(err, refused(c, e)); {
	case err != nil:
		return Result{}, err
	case c.End() != Open:
		return Result{already(c.End()), c}, nil
	case !c.IsCreated():
		return Result{}, ErrTagNotFound
	}
	a.schedule(c)
	return Result{Applied, c}, nil
}

// Delete ends a chain as Deleted, whatever work is still under way: each later operation gets that
// outcome. A chain that has ended stays what it is. Where nothing is stored under the tag, that is
// [ErrTagNotFound].
//
// It costs one write, and up to two of the index.
func (a *Acker) Delete(ctx context.Context, tag string) (Result, error) {
	if err := ValidateTag(tag); err != nil {
		return Result{}, err
	}
	op := a.newOp()
	c, _, err := a.store.delete(ctx, tag, op, a.now())
	switch {
	case err != nil:
		return Result{}, err
	case !c.Exists():
		return Result{}, ErrTagNotFound
	case c.HasStamps():
		return Result{}, ErrOtherKind
	case c.Recorded == Deleted && c.LastOp == op:
		return Result{Ended, c}, nil
	}
	return Result{already(c.End()), c}, nil
}
