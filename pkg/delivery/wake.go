package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// scheduleAhead is how far ahead who finds something due tells of it: a wake-up that is farther
// ahead would be sent again in vain. A later pass announces what is due then, or found by the
// sweep.
const scheduleAhead = time.Hour

// due is when somebody has to see to a consumer though nothing comes for its queue: a batch that
// failed is tried again, or a claim may be taken over. It is the zero time where nothing is due.
func due(c Consumer) time.Time {
	switch {
	case c.State == Started || c.State == Sending:
		return c.LeaseUntil.Add(time.Millisecond) // it is good until then, inclusive
	case rests(c):
		return c.RetryAt
	}
	return time.Time{}
}

// rests reports whether a consumer may be delivered to, and nobody is at it.
func rests(c Consumer) bool { return c.Exists() && c.State == Idle && c.Paused == "" }

// schedule tells when something is due of the consumer that a delivery was stopped by: also where
// that time has come since it was looked at.
func (d *Deliverer) schedule(done Delivery) {
	if d.wakeUp == nil || done.Err != nil {
		return
	}
	if done.Outcome == Busy || done.Reason == reasonFailed {
		at, now := due(done.Record), d.now()
		if !at.IsZero() && at.Sub(now) <= scheduleAhead {
			d.wakeUp(done.Queue, done.Consumer, at)
		}
	}
}

// Wake does for one consumer what the sweep does, if a batch of it is to be tried again, its
// claim's lease is over, or messages wait for it that nobody is at: it ends what is dead, and wakes
// up who delivers by a notification of the queue. Where that was just done, it is looked at again 5
// seconds later: who was woken up may not have been able to have the queue delivered. It returns
// when something of the consumer is due: the zero time where nothing is. Call it when
// [Options].WakeUp said, or at any other time.
//
// It costs one strong read where nothing can be due, and one of the queue's cursor where the
// consumer is idle.
//
// Where the queue is empty, it handles the circuit of the consumer's name, as the sweep does of
// those that it knows: it announces that it is open, or closed again, and wakes queues up for a
// probe that is due. It returns when the circuit is to be seen to next: call it when
// [Options].WakeCircuit said. One strong read where nothing is due.
func (d *Deliverer) Wake(ctx context.Context, queue, consumer string,
	options SweepOptions) (SweepReport, time.Time, error) {
	o, err := options.withDefaults()
	if queue != "" {
		err = errors.Join(err, cursor.ValidateQueue(queue))
	}
	if err := errors.Join(err, ValidateConsumer(consumer)); err != nil {
		return SweepReport{}, time.Time{}, err
	}
	run := sweepRun{Deliverer: d, options: o, seen: &tally.Tally{}, woken: true}
	if queue == "" {
		e, err := d.store.Health(ctx, consumer, true)
		if err != nil {
			return SweepReport{}, time.Time{}, err
		}
		next, err := run.circuit(ctx, e)
		return run.report, next, err
	}
	c, err := d.store.Consumer(ctx, queue, consumer)
	if err != nil {
		return SweepReport{}, time.Time{}, err
	}
	at, now := due(c), d.now()
	if at.IsZero() && !rests(c) || at.After(now) {
		return SweepReport{}, at, nil
	}
	it, err := d.sorter.Status(ctx, queue)
	switch next := it.Notified.Add(soon); {
	case err != nil || rests(c) && c.Delivered >= it.Position:
	case !it.Notified.Before(at) && next.After(now): // somebody has woken up who delivers
		return run.report, next, nil
	default:
		err = run.seeTo(ctx, []Consumer{c}, it, false)
	}
	if isErased(err, queue) {
		err = nil
	}
	return run.report, time.Time{}, err
}
