package delivery

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// held is the row of a queue that an open circuit keeps from being delivered, and of the message
// that it gets next. Those of a circuit that opens later are newer.
func held(queue string, seq int64, e request.Health, since time.Time) trouble.Row {
	opened := cmp.Or(e.Circuit.Opened, e.Circuit.Closed)
	return trouble.Row{
		State: trouble.HeldBy(e.Consumer), Queue: queue, Consumer: e.Consumer, Seq: seq, Since: since,
		N: opened.UnixMilli(),
	}
}

// openRow is the row of a consumer's name whose circuit is open, or has held queues back that are
// not woken up yet.
func openRow(e request.Health) trouble.Row {
	since := cmp.Or(e.Circuit.Opened, e.Circuit.Closed)
	return trouble.Row{State: trouble.CircuitOpen, Consumer: e.Consumer, Since: since,
		N: since.UnixMilli()}
}

// hold notes a queue that has something to deliver, and that the circuit keeps from it: half a read
// unit, and a write the first time. A row that cannot be written now the next delivery writes; the
// sweep wakes the queue up in any case. It reports whether the circuit was found closed, or due,
// since it stopped this delivery: the process that woke others up then passed this one over.
func (run *delivery) hold(ctx context.Context) (mayGoOn bool) {
	if run.Reason != reasonCircuit && run.Reason != reasonFailed {
		return false
	}
	h, err := run.health(ctx, run.Consumer)
	if err != nil {
		return false
	}
	if !run.opens(h) {
		return run.Reason == reasonCircuit
	}
	run.noteHeld(ctx, run.Record, h)
	return false
}

// noteHeld notes a queue that waits for the circuit, and reports whether it is noted: it is woken
// up in its turn then.
func (d *Deliverer) noteHeld(ctx context.Context, c Consumer, h request.Health) bool {
	rows := d.store.Trouble()
	if rows == nil {
		return false
	}
	row := held(c.Queue, c.Delivered+1, h, d.now())
	there, found, err := rows.Row(ctx, row.State, row.Queue, row.Consumer)
	if err == nil && (!found || there.N < row.N) {
		err = rows.Put(ctx, row)
	}
	return err == nil
}

// heldBack reports whether a consumer that lags is left to the circuit of its name, which is open
// or wakes its queues up, and notes its queue. Where there are no rows nobody else wakes the queue
// up.
func (r *sweepRun) heldBack(ctx context.Context, c Consumer) bool {
	h, err := r.health(ctx, c.Name)
	if err == nil && h.Circuit.Waking {
		// No process is left to wake it up where that has ended since.
		h, err = r.store.Health(ctx, c.Name, false)
	}
	waking := h.Circuit.Waking && !r.woken // a retry has a time of its own
	if err != nil || r.bounds(c.Name).Off || !h.Circuit.Open() && !waking || r.store.Trouble() == nil {
		return false
	}
	r.noteMore(ctx, openRow(h)) // by it the sweep finds the circuits of readers that it does not know
	return c.State == Blocked || c.Paused != "" || r.noteHeld(ctx, c, h)
}

// probesHeld has queues that are held back looked at for a probe: those that are for longest. Their
// rows are deleted, and come again as the last ones where they are still held: so each has its
// turn.
const probesHeld = 3

// looksForProbe is among how many of those it looks for such as do not fail.
const looksForProbe = 25

// wakeForProbe wakes up who delivers for a probe that is due: queues that are held back, first
// those whose message did not fail, or else those that are known to fail. Where none of them has
// anything to deliver, the circuit is closed.
func (r *sweepRun) wakeForProbe(ctx context.Context, e request.Health) error {
	rows, _, err := r.store.Trouble().Oldest(ctx, trouble.HeldBy(e.Consumer),
		trouble.Ages{}, looksForProbe)
	if err != nil || len(rows) == 0 {
		var queues []string
		for _, f := range e.Failing {
			queues = append(queues, f.Queue)
		}
		return errors.Join(err, r.wakeAll(ctx, queues))
	}
	var good, bad []trouble.Row
	for _, row := range rows {
		if len(good) == probesHeld {
			break
		}
		c, err := r.store.Consumer(ctx, row.Queue, e.Consumer)
		if err == nil {
			row = held(row.Queue, c.Delivered+1, e, row.Since) // the index has no seq
		}
		if err == nil && c.Fails() {
			bad = append(bad, row)
			continue
		}
		good = append(good, row)
	}
	turn := min(len(bad), probesHeld-len(good))
	err = r.wakeHeld(ctx, e, append(good, bad[:turn]...))
	if len(rows) < looksForProbe {
		return err
	}
	// those behind them are looked at the next time
	return errors.Join(err, r.holdAgain(ctx, bad[turn:]))
}

// endsUnproven closes a circuit for which nobody can make a probe, and reports whether it did:
// nothing is held back, and an operator skipped what was last waiting, went to another place, or
// paused its consumers. Those that still fail stay known to do so: where one of them, or another
// queue, fails again, it opens.
//
// Another did it first, or made a probe: the evidence is not what was seen, and nothing changes. We
// die right after: the next who comes wakes up what was held back meanwhile.
func (r *sweepRun) endsUnproven(ctx context.Context, e request.Health) (bool, error) {
	rows, _, err := r.store.Trouble().Oldest(ctx, trouble.HeldBy(e.Consumer), trouble.Ages{}, 1)
	if err != nil || len(rows) > 0 {
		return false, err
	}
	next := e
	next.Failing = nil
	for _, f := range e.Still(r.now(), r.good(e.Consumer)) {
		fails, probes, err := r.mayProbe(ctx, e.Consumer, f.Queue)
		if err != nil || probes {
			return false, err
		}
		if fails {
			next.Failing = append(next.Failing, f)
		}
	}
	if len(next.Failing) == 0 {
		next.FailingSince = time.Time{}
	}
	_, made, err := r.learnCircuit(ctx, e, closed(next, r.now()))
	return made, err
}

// mayProbe reports whether the consumer of a queue still fails, and whether who delivers to it has,
// or will have, something to hand on.
func (r *sweepRun) mayProbe(ctx context.Context,
	consumer, queue string) (fails, probes bool, err error) {
	c, err := r.store.Consumer(ctx, queue, consumer)
	if err != nil || !c.Exists() {
		return false, false, err
	}
	if c.Paused != "" || c.State == Blocked {
		return c.Fails(), false, nil
	}
	it, err := r.sorter.Status(ctx, queue)
	if errors.Is(err, cursor.ErrNoQueue) || isErased(err, queue) {
		return false, false, nil
	}
	return c.Fails(), c.State != Idle || it.Position > c.Delivered, err
}

// wakeHeld wakes queues up that were held back. A row is deleted before, so that a queue that is
// held back anew has one again; that of a queue that cannot be woken up comes again as the last
// one, and keeps none of the others.
//
// We die after the deletion: the sweep wakes the queue up, as any that lags.
func (r *sweepRun) wakeHeld(ctx context.Context, e request.Health, rows []trouble.Row) error {
	asleep, err := r.wakeRows(ctx, e, rows)
	return errors.Join(err, r.holdAgain(ctx, asleep))
}

// wakeRows deletes rows, and wakes up the queues that they are about. It returns the rows of those
// that could not be woken up.
func (r *sweepRun) wakeRows(ctx context.Context, e request.Health,
	rows []trouble.Row) (asleep []trouble.Row, err error) {
	var errs []error
	for _, row := range rows {
		// What the index shows may be over, and has no number.
		row.N = held(row.Queue, row.Seq, e, row.Since).N
		if err := r.store.Trouble().Delete(ctx, row); err != nil {
			return asleep, errors.Join(append(errs, err)...)
		}
		if err := r.wakeAll(ctx, []string{row.Queue}); err != nil {
			asleep, errs = append(asleep, row), append(errs, err)
		}
	}
	return asleep, errors.Join(errs...)
}

// holdAgain notes queues that could not be woken up as those that are held back last.
func (r *sweepRun) holdAgain(ctx context.Context, asleep []trouble.Row) error {
	var errs []error
	for _, row := range asleep {
		row.Since = r.now()
		errs = append(errs, r.store.Trouble().Put(ctx, row))
	}
	return errors.Join(errs...)
}

const (
	// wakeTurn is how long a call wakes queues up that were held back.
	wakeTurn = sweepTurn
	// maxAsleep is how many queues cannot be woken up until a call ends: it is not theirs alone
	// then.
	maxAsleep = 20
	// wakeSteps is how many times a second it does so.
	wakeSteps = 10
	// heldLate is how long after a circuit closed somebody may hold a queue back who does not know
	// that.
	heldLate = 2 * lookFor
)

// reader is that of a consumer's name, as far as the sweep knows it, with its defaults.
func (o SweepOptions) reader(consumer string) Reader {
	for _, reader := range o.Readers {
		if reader.Name == consumer {
			reader.MaxAttempts = cmp.Or(reader.MaxAttempts, o.MaxAttempts)
			return reader.withDefaults()
		}
	}
	return Reader{MaxAttempts: o.MaxAttempts}.withDefaults()
}

// bounds are those of the circuit of a consumer's name, good how long an entry of its queues that
// fail is good for.
func (r *sweepRun) bounds(consumer string) Circuit { return r.options.reader(consumer).Circuit }

func (r *sweepRun) good(consumer string) time.Duration {
	reader := r.options.reader(consumer)
	return goodFor(reader.Retries, reader.Circuit.Probes)
}

// wakes wakes up the queues that a circuit held back which has closed, those first that wait for
// longest, and returns when somebody has to go on: the zero time where nothing is left. One caller
// at a time does so, for a turn: ProbeAt says until when.
//
// Another did it first: it wakes them up. We die right after: the next caller goes on when the turn
// is over.
func (r *sweepRun) wakes(ctx context.Context, e request.Health) (time.Time, error) {
	if now := r.now(); now.Before(e.Circuit.ProbeAt) {
		return e.Circuit.ProbeAt, nil
	}
	next := e
	next.Circuit.ProbeAt = ddb.ToMillis(r.now().Add(wakeTurn))
	e, made, err := r.learn(ctx, e, next)
	if err != nil || !made {
		return e.Circuit.ProbeAt, err
	}
	left, err := r.wakeInTurn(ctx, e)
	if err != nil {
		return e.Circuit.ProbeAt, err
	}
	due := r.now()
	if late := e.Circuit.Closed.Add(heldLate); !left {
		if !due.Before(late) {
			return time.Time{}, r.sayClosed(ctx, e)
		}
		due = late
	}
	next = e
	next.Circuit.ProbeAt = ddb.ToMillis(due)
	_, _, err = r.learn(ctx, e, next)
	return due, err
}

// wakeInTurn wakes queues up at the rate of the consumer, until none is left or the turn is over.
// Those that cannot be woken up are held back again behind it, so that each is tried once in a
// turn.
func (r *sweepRun) wakeInTurn(ctx context.Context, e request.Health) (left bool, err error) {
	rate := r.bounds(e.Consumer).WakeRate
	began, woken, after := r.now(), 0, trouble.Ages{}
	var asleep []trouble.Row
	defer func() { err = errors.Join(err, r.holdAgain(ctx, asleep)) }()
	for {
		rows, next, failed := r.store.Trouble().Oldest(ctx, trouble.HeldBy(e.Consumer), after,
			max(rate/wakeSteps, 1))
		if failed != nil || len(rows) == 0 && (after == trouble.Ages{}) {
			return len(asleep) > 0, errors.Join(err, failed)
		}
		after = next
		not, failed := r.wakeRows(ctx, e, rows)
		asleep, err = append(asleep, not...), errors.Join(err, failed)
		if failed != nil && len(not) == 0 || len(asleep) > maxAsleep {
			return true, err
		}
		woken += len(rows)
		due := began.Add(time.Duration(woken) * time.Second / time.Duration(rate))
		if !r.hasTime(ctx, began.Add(wakeTurn), max(due.Sub(r.now()), 0)+r.margin) {
			return true, err
		}
		if failed := r.sleep(ctx, due.Sub(r.now())); failed != nil {
			return true, errors.Join(err, failed)
		}
	}
}
