package delivery

import (
	"cmp"
	"context"
	"errors"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
)

const (
	opErase       = "erase"
	opRestartKeys = "restart-keys"
)

// ofQueue checks an order of a kind on a whole queue, and gives it its Op.
func (d *Deliverer) ofQueue(o Order, kind string) (Order, error) {
	if o.Consumer != "" {
		return o, invalid.New(invalid.Misplaced, "consumer", "must not be given: it is of a whole queue")
	}
	o.Kind, o.Op = kind, cmp.Or(o.Op, d.newReq())
	return o, cmp.Or(o.validateReason(), cursor.ValidateQueue(o.Queue))
}

// RestartKeys begins the keys of a keyed queue anew: see [cursor.Sorter.RestartKeys]. It returns
// the queue's cursor. The order has no consumer.
//
// Lost responses: the order again, with its Op, finds that it was done. Another order has the Op:
// it is refused. We die right after a step: the operation is on record, and the same order does the
// rest.
func (d inside) RestartKeys(ctx context.Context, o Order) (cursor.Cursor, error) {
	o, err := d.ofQueue(o, opRestartKeys)
	if err != nil {
		return cursor.Cursor{}, err
	}
	cur, err := d.sorter.Status(ctx, o.Queue)
	if err != nil {
		return cur, err
	}
	err = d.recorded(ctx, d.operation(o, -1, nil), cur.RestartedBy(o.Op), func() (failed error) {
		cur, failed = d.sorter.RestartKeys(ctx, o.Queue, o.Op)
		return failed
	})
	return cur, err
}

// Erase erases a queue: from now on it takes nothing. What is stored of it is deleted by
// [Deliverer.EraseMore], which the sweep calls too. It returns the queue's stub. The order has no
// consumer.
//
// Lost responses, another did it first: the order again finds the stub. We die right after a step:
// the operation is on record, and the sweep deletes what is stored.
func (d inside) Erase(ctx context.Context, o Order) (cursor.Cursor, error) {
	o, err := d.ofQueue(o, opErase)
	if err != nil {
		return cursor.Cursor{}, err
	}
	c, err := d.sorter.Inside(queuelog.Inside{}).ErasureOf(ctx, o.Queue)
	if err != nil {
		return c, err
	}
	err = d.recorded(ctx, d.operation(o, -1, nil), c.Erasure.Op == o.Op, func() (failed error) {
		if c, failed = d.sorter.Erase(ctx, o.Queue, o.Op); failed == nil {
			_ = d.store.Trouble().Forget(ctx, o.Queue, "", trouble.Gap)
		}
		return failed
	})
	return c, err
}

// EraseMore deletes what is stored of a queue that was erased, for half of the time that the
// context has left: the messages are the sorter's. The consumers go first, so that nobody makes a
// claim: one that is out ends by that, and its commit is answered as of a consumer that is not
// there. Then goes what others have of it, such as endpoints, if others is not nil: see
// [SweepOptions].Erase.
//
// It returns the queue's stub, which says whether the erasing is over, and what this call deleted.
// The end is left to the sweep: only the sweep knows that nobody has stored anything.
func (d inside) EraseMore(ctx context.Context, erased cursor.Cursor,
	others func(ctx context.Context, queue string) (left bool, err error)) (cursor.Cursor,
	cursor.Remains, error) {
	deleted, err := d.sorter.Inside(queuelog.Inside{}).EraseMore(ctx, erased,
		func(ctx context.Context, c cursor.Cursor) (bool, error) {
			return d.eraseOthers(ctx, c, others)
		})
	if err != nil {
		return erased, deleted, err
	}
	now, err := d.sorter.Inside(queuelog.Inside{}).ErasureOf(ctx, erased.Queue)
	return now, deleted, err
}

// eraseOthers deletes what is kept of a queue that was erased beside its messages, and reports
// whether something is left.
func (d *Deliverer) eraseOthers(ctx context.Context, erased cursor.Cursor,
	others func(ctx context.Context, queue string) (left bool, err error)) (left bool, err error) {
	left, err = d.eraseConsumers(ctx, erased.Queue)
	if err != nil || others == nil || !erased.Erasure.Emptied.IsZero() {
		return left, err
	}
	kept, err := others(ctx, erased.Queue)
	return left || kept, err
}

// eraseConsumers deletes the consumers of a queue that was erased, and the chains of their tracked
// claims. It reports whether one is left, because its replies are on their way, or because this
// Deliverer has no Acker for its chain: the next run of the sweep goes on.
//
// One query, and a write a consumer.
func (d *Deliverer) eraseConsumers(ctx context.Context, queue string) (left bool, err error) {
	consumers, err := d.consumers(ctx, queue)
	var errs []error
	for _, c := range consumers {
		gone, err := d.eraseConsumer(ctx, c)
		left = left || !gone
		errs = append(errs, err)
	}
	return left, errors.Join(append(errs, err)...)
}

func (d *Deliverer) eraseConsumer(ctx context.Context, c Consumer) (gone bool, err error) {
	if c.State == Sending {
		if !c.LeaseUntil.Before(ddb.ToMillis(d.now())) {
			return false, nil
		}
		if c, err = d.forward(ctx, c, nil); err != nil {
			return false, err
		}
	}
	if tag := ChainOf(c); tag != "" {
		if d.acker == nil {
			return false, nil
		}
		if _, err := d.acker.Delete(ctx, tag); err != nil && !errors.Is(err, xorack.ErrTagNotFound) {
			return false, err
		}
	}
	gone, err = d.store.Erase(ctx, c.Queue, c.Name)
	if gone {
		d.store.Note(ctx, c, Consumer{})
		d.unlist(ctx, c)
	}
	return gone, err
}

// Erasable looks what would be erased with a queue, and changes nothing: all its consumers, beside
// the position that it has, or had when its erasing was asked for.
func (d inside) Erasable(ctx context.Context,
	queue string) (stored cursor.Remains, consumers []Status, err error) {
	cur, err := d.sorter.Inside(queuelog.Inside{}).ErasureOf(ctx, queue)
	if err != nil {
		return stored, nil, err
	}
	all, err := d.consumers(ctx, queue)
	if err != nil {
		return stored, nil, err
	}
	for _, c := range all {
		consumers = append(consumers, Status{c, max(cur.Position, cur.Erasure.Last)})
	}
	stored, err = d.sorter.Inside(queuelog.Inside{}).Remaining(ctx, queue)
	return stored, consumers, err
}

func isErased(err error, queue string) bool {
	wrong, ok := errors.AsType[*cursor.InvalidError](err)
	return ok && wrong.Queue == queue && errors.Is(wrong, cursor.ErrErased)
}
