package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
)

// unprobed is how long after a probe was due who woke queues up for it looks again.
const unprobed = 5 * time.Second

// abandoned is how long after a probe was due nobody delivers to the consumer any more, though its
// queues were woken up: it was taken out of its file, or its function is gone.
const abandoned = time.Hour

// tellCircuit tells when somebody has to see to a circuit that has changed, or that stopped a
// delivery.
func (d *Deliverer) tellCircuit(e request.Health) {
	switch circuit := e.Circuit; {
	case d.wakeCircuit == nil:
	case circuit.Open() && circuit.Announced:
		d.wakeCircuit(e.Consumer, circuit.ProbeAt)
	case circuit.Open() || circuit.Waking:
		d.wakeCircuit(e.Consumer, d.now())
	}
}

// circuit handles a circuit, and returns when it is due next.
func (r *sweepRun) circuit(ctx context.Context, e request.Health) (time.Time, error) {
	switch {
	case e.Circuit.Open() && (r.bounds(e.Consumer).Off || r.now().Sub(e.Circuit.ProbeAt) >= abandoned):
		r.closes(ctx, e) // it opens again where one delivers after all, and fails
		return r.now(), nil
	case e.Circuit.Open():
		r.report.CircuitsOpen++
		e, err := r.sayOpen(ctx, e)
		if !e.Circuit.Open() {
			return time.Time{}, err
		}
		// The sink is asked whether anybody hears of it or not.
		if now := r.now(); !now.Before(e.Circuit.ProbeAt) {
			ended, failed := r.endsUnproven(ctx, e)
			if ended {
				return now, err
			}
			return now.Add(unprobed), errors.Join(err, failed, r.wakeForProbe(ctx, e))
		}
		return e.Circuit.ProbeAt, err
	case e.Circuit.Waking:
		return r.wakes(ctx, e)
	}
	return time.Time{}, nil
}

// sayOpen announces that a circuit is open, if nobody did.
//
// Another did it first: both announce it, under one id. We die right after the announcement: the
// next who comes repeats it.
func (r *sweepRun) sayOpen(ctx context.Context, e request.Health) (request.Health, error) {
	_ = r.store.Trouble().Put(ctx, openRow(e)) // the next who comes writes what cannot be written now
	if e.Circuit.Announced {
		return e, nil
	}
	if err := r.announce(ctx, ofCircuit(circuitOpen, e, e.Circuit.Opened, r.now())); err != nil {
		return e, err
	}
	next := e
	next.Circuit.Announced = true
	there, _, err := r.learn(ctx, e, next)
	return there, err
}

// sayClosed announces that a circuit has closed, if people heard that it was open, and notes that
// nothing is left to do. It is as sayOpen is.
func (r *sweepRun) sayClosed(ctx context.Context, e request.Health) error {
	if e.Circuit.Announced {
		if err := r.announce(ctx, ofCircuit(circuitClosed, e, e.Circuit.Closed, r.now())); err != nil {
			return err
		}
	}
	if err := r.store.Trouble().Delete(ctx, openRow(e)); err != nil {
		return err
	}
	next := e
	next.Circuit = request.Circuit{Closed: e.Circuit.Closed}
	_, _, err := r.learn(ctx, e, next)
	return err
}

func (r *sweepRun) wakeAll(ctx context.Context, queues []string) error {
	var errs []error
	for _, queue := range queues {
		if err := r.sorter.Notify(ctx, queue); err != nil {
			errs = append(errs, fmt.Errorf("queue %q: %w", queue, err))
		} else {
			r.report.Notified++
		}
	}
	return errors.Join(errs...)
}

// ofCircuit is an announcement of a consumer's name: it is about no queue.
func ofCircuit(kind string, e request.Health, since, now time.Time) Announcement {
	return Announcement{
		Kind: kind, ID: fmt.Sprintf("%s/%s/%d", kind, e.Consumer, since.UnixMilli()),
		Consumer: e.Consumer, Since: since, Age: now.Sub(since), Attempts: int(e.Circuit.Probes),
	}
}

// circuits handles the circuits of the readers that the sweep knows, and to those that are open.
func (s *consumerSweep) circuits(ctx context.Context) {
	var names []string
	for _, reader := range s.options.Readers {
		names = append(names, reader.Name)
	}
	rows, _, err := s.deliverer.store.Trouble().Page(ctx, trouble.CircuitOpen, "", "", maxCircuits)
	listed := map[string]bool{}
	for _, row := range rows {
		if listed[row.Consumer] = true; !slices.Contains(names, row.Consumer) {
			names = append(names, row.Consumer)
		}
	}
	s.fail(err)
	s.deliverer.forEach(len(names), func(i int) {
		if err := s.circuit(ctx, names[i], listed[names[i]]); err != nil {
			s.fail(fmt.Errorf("circuit of consumer %q: %w", names[i], err))
		}
	})
}

const maxCircuits = 100

// circuit handles one, if it is due, and reports when it is due next. The row of one that is closed
// was written by somebody who was late.
func (s *consumerSweep) circuit(ctx context.Context, name string, listed bool) error {
	e, err := s.deliverer.store.Health(ctx, name, false)
	if err != nil {
		return err
	}
	run := &sweepRun{Deliverer: s.deliverer, options: s.options}
	if !e.Circuit.Open() && !e.Circuit.Waking {
		if listed {
			err = s.deliverer.store.Trouble().Delete(ctx, openRow(e))
		}
		// What was noted as held meanwhile.
		rows, _, failed := run.store.Trouble().Oldest(ctx, trouble.HeldBy(e.Consumer), trouble.Ages{},
			run.bounds(e.Consumer).WakeRate)
		if failed == nil && len(rows) > 0 {
			failed = run.wakeHeld(ctx, e, rows)
		}
		err = errors.Join(err, failed)
		s.did(run)
		return err
	}
	next, err := run.circuit(ctx, e)
	for err == nil && e.Circuit.Waking && !next.IsZero() && !next.After(run.now()) &&
		run.hasTime(ctx, time.Time{}, wakeTurn+run.margin) {
		// However many wait: wake-ups follow one another ten times at most.
		if e, err = s.deliverer.store.Health(ctx, name, true); err == nil {
			next, err = run.circuit(ctx, e)
		}
	}
	if s.deliverer.wakeCircuit != nil && !next.IsZero() {
		s.deliverer.wakeCircuit(name, next)
	}
	s.did(run)
	return err
}
