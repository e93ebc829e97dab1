package handoff

import (
	"cmp"
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
)

// held is the row of a queue that an open circuit keeps from being delivered. Those of a circuit that
// opens later are newer.
func held(queue string, e record.Evidence, since time.Time) trouble.Row {
	opened := cmp.Or(e.Circuit.Opened, e.Circuit.Closed)
	return trouble.Row{State: trouble.HeldBy(e.Consumer), Queue: queue, Consumer: e.Consumer, Since: since, N: opened.UnixMilli()}
}

// openRow is the row of a consumer's name whose circuit is open, or has held queues back that are not woken
// up yet.
func openRow(e record.Evidence) trouble.Row {
	since := cmp.Or(e.Circuit.Opened, e.Circuit.Closed)
	return trouble.Row{State: trouble.CircuitOpen, Consumer: e.Consumer, Since: since, N: since.UnixMilli()}
}

// hold notes a queue that has something to deliver, and that the circuit keeps from it: half a read unit,
// and a write the first time. A row that cannot be written now the next delivery writes; the sweep wakes the
// queue up in any case.
func (run *delivery) hold(ctx context.Context) {
	switch run.Ended {
	case EndedCircuitOpen, EndedFailed, EndedWait:
	default:
		return
	}
	rows := run.store.Trouble()
	e, err := run.evidence(ctx, run.Consumer)
	if rows == nil || err != nil || !run.opens(e) {
		return
	}
	row := held(run.Queue, e, run.now())
	if there, found, err := rows.Row(ctx, row.State, row.Queue, row.Consumer); err == nil && (!found || there.N < row.N) {
		_ = rows.Put(ctx, row)
	}
}

// probesHeld has queues that are held back looked at for a probe: those that are for longest. Their
// rows are deleted, and come again as the last ones where they are still held: so each has its turn.
const probesHeld = 3

// wakeForProbe wakes up who delivers for a probe that is due: queues that are held back, or else those
// that are known to fail.
func (r *sweepRun) wakeForProbe(ctx context.Context, e record.Evidence) error {
	rows, _, err := r.store.Trouble().Oldest(ctx, trouble.HeldBy(e.Consumer), "", probesHeld)
	if err != nil || len(rows) == 0 {
		return cmp.Or(r.wakeAll(ctx, e.Failing), err)
	}
	return r.wakeHeld(ctx, e, rows)
}

// wakeHeld wakes queues up that were held back. A row is deleted before, so that a queue that is held
// back anew has one again.
//
// We die after the deletion: the sweep wakes the queue up, as any that lags.
func (r *sweepRun) wakeHeld(ctx context.Context, e record.Evidence, rows []trouble.Row) error {
	for _, row := range rows {
		// What the index shows may be over, and has no number.
		row.N = held(row.Queue, e, row.Since).N
		if err := r.store.Trouble().Delete(ctx, row); err != nil {
			return err
		}
		if err := r.wakeAll(ctx, []string{row.Queue}); err != nil {
			_ = r.store.Trouble().Put(ctx, row)
			return err
		}
	}
	return nil
}

const (
	// wakeTurn is how long a call wakes queues up that were held back.
	wakeTurn = 20 * time.Second
	// wakeSteps is how many times a second it does so.
	wakeSteps = 10
	// heldLate is how long after a circuit closed somebody may hold a queue back who does not know that.
	heldLate = 2 * evidenceFor
)

// wakeRate is how many queues a second are woken up.
func (r *sweepRun) wakeRate(consumer string) int {
	for _, reader := range r.options.Readers {
		if reader.Name == consumer {
			return reader.Circuit.withDefaults().WakeRate
		}
	}
	return Circuit{}.withDefaults().WakeRate
}

// wakes wakes up the queues that a circuit held back which has closed, those first that wait for longest,
// and returns when somebody has to go on: the zero time where nothing is left. One caller at a time does so,
// for a turn: ProbeAt says until when.
//
// Another did it first: it wakes them up. We die right after: the next caller goes on when the
// turn is over.
func (r *sweepRun) wakes(ctx context.Context, e record.Evidence) (time.Time, error) {
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
func (r *sweepRun) wakeInTurn(ctx context.Context, e record.Evidence) (left bool, err error) {
	rate := r.wakeRate(e.Consumer)
	began, woken, after := r.now(), 0, ""
	for {
		rows, next, err := r.store.Trouble().Oldest(ctx, trouble.HeldBy(e.Consumer), after, max(rate/wakeSteps, 1))
		if err != nil || len(rows) == 0 && after == "" {
			return false, err
		}
		after = next
		if err := r.wakeHeld(ctx, e, rows); err != nil {
			return true, err
		}
		woken += len(rows)
		due := began.Add(time.Duration(woken) * time.Second / time.Duration(rate))
		if !r.hasTime(ctx, began.Add(wakeTurn), max(due.Sub(r.now()), 0)+r.margin) {
			return true, nil
		}
		if err := r.sleep(ctx, due.Sub(r.now())); err != nil {
			return true, err
		}
	}
}
