package dedup

import (
	"context"
	"errors"
)

// Each runs handle once for each item, one after the other, and stops at the first that fails. It
// returns how many are done, of this call and of earlier ones, and the error of the one that is
// not. It is for batches in order: those of a stream, and those that are delivered in order. A
// batch that is delivered again skips what is done.
func Each[T, ID, R any](ctx context.Context, d *Deduplicator[ID, R], items []T,
	id func(T) (ID, error), handle func(context.Context, T) (R, error)) (int, error) {
	if id == nil || handle == nil {
		return 0, missing("id or handler")
	}
	if err := d.made(); err != nil {
		return 0, err
	}
	for done, item := range items {
		if err := one(ctx, d, item, id, handle); err != nil {
			return done, err
		}
	}
	return len(items), nil
}

// one runs handle once for an item. An item that ran and could not be remembered is done: if it
// came again, it would run again.
func one[T, ID, R any](ctx context.Context, d *Deduplicator[ID, R], item T, id func(T) (ID, error),
	handle func(context.Context, T) (R, error)) error {
	var out Outcome[R]
	key, err := id(item)
	if err == nil {
		out, err = d.Once(ctx, key, func(ctx context.Context) (R, error) { return handle(ctx, item) })
	}
	_, lost := errors.AsType[*LostError](err)
	switch {
	case err == nil:
	case out.Attempt > 0 && !lost:
		d.options.Logger.WarnContext(ctx, "item not remembered", "processor", d.processor, "error", err)
		return nil
	default:
		d.options.Logger.WarnContext(ctx, "item failed", "processor", d.processor, "error", err)
	}
	return err
}
