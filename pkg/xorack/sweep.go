package xorack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// SweepReport is what a run of the sweep saw and did.
type SweepReport struct {
	// Chains is how many were looked at, Late by how much the one was overdue that had waited
	// longest.
	Chains int
	Late   time.Duration
	// TimedOut is how many timed out, Finished how many ended chains were finished that the
	// stream's handler had left, Postponed how many are to be looked at again later.
	TimedOut, Finished, Postponed int
	// More reports that the time was up before all were looked at that are due.
	More bool
	// Failed is how many could not be handled; the next run tries them again.
	Failed int
}

const sweepPage = 100

// lastLook is how long before its time is up a run looks at its last chains: they end well.
const lastLook = time.Second

// turn is how long a chain may take in a run: one whose end nobody takes keeps no other waiting.
const turn = 5 * time.Second

const maxSweepErrors = 10

// Sweep handles all chains that are due: it times out those whose deadline has come or that made no
// progress for too long, and finishes ended ones that the stream's handler left. announce publishes
// their ends; nil means that nobody listens. Run it every few minutes. Each run starts with those
// that have been due longest, and a chain that fails is due anew, behind all that were: it does not
// hold back the others, however many fail in each run.
//
// A run goes on until nothing is due any more, or its context ends; a chain has a few seconds of
// it. Any number of sweeps may run at once: all that they do can be done twice. Chains are handled
// through [Options].ForEach.
//
// A run with nothing to do costs 16 reads of half a unit; a chain one read, and what it then needs;
// one that fails a write, and two of the index.
//
// The error joins the first failures; the report is true beside it.
func (a *Acker) Sweep(ctx context.Context, announce Announce) (SweepReport, error) {
	run := sweepRun{acker: a, announce: announce, now: a.now()}
	begin, cancel := margin.Keep(ctx, lastLook)
	defer cancel()
	places := make([]Pending, chains.DueShards)
	var open []int
	for shard := range chains.DueShards {
		open = append(open, shard)
	}
	// A page of each part in turn, so that none waits for another.
	for len(open) > 0 && begin.Err() == nil {
		shard := open[0]
		open = open[1:]
		page, err := a.store.due(ctx, shard, run.now, places[shard], sweepPage)
		if err != nil {
			run.fail(fmt.Errorf("due chains of part %d: %w", shard, err))
			continue
		}
		a.forEach(len(page), func(i int) { run.chain(ctx, page[i]) })
		if len(page) == sweepPage {
			places[shard] = page[len(page)-1]
			open = append(open, shard)
		}
	}
	run.report.More = len(open) > 0
	run.errs = append(run.errs, ctx.Err())
	return run.report, errors.Join(run.errs...)
}

type sweepRun struct {
	acker    *Acker
	announce Announce
	now      time.Time

	// mu guards the report and the errors.
	mu     sync.Mutex
	report SweepReport
	errs   []error
}

func (r *sweepRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) < maxSweepErrors {
		r.errs = append(r.errs, err)
	}
}

func (r *sweepRun) add(o SweepReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Chains += o.Chains
	r.report.Late = max(r.report.Late, o.Late)
	r.report.TimedOut += o.TimedOut
	r.report.Finished += o.Finished
	r.report.Postponed += o.Postponed
	r.report.Failed += o.Failed
}

func (r *sweepRun) chain(ctx context.Context, due Pending) {
	within, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	did, err := r.see(within, due.Tag)
	did.Chains, did.Late = 1, r.now.Sub(due.Due)
	if err != nil {
		did.Failed = 1
		_, _, stays := r.acker.store.putOff(ctx, due.Tag, due.Due, r.now)
		r.fail(fmt.Errorf("chain %q: %w", due.Tag, errors.Join(err, stays)))
	}
	r.add(did)
}

// see reads the chain's current state and does what is due.
func (r *sweepRun) see(ctx context.Context, tag string) (did SweepReport, err error) {
	c, err := r.acker.store.Chain(ctx, tag)
	if err != nil || c.Due.IsZero() {
		// The index lags behind the table: the chain is sealed, or gone.
		return did, err
	}
	did, _, err = r.handle(ctx, c)
	return did, err
}

// handle does what is due of a chain, and returns it as it stands then.
func (r *sweepRun) handle(ctx context.Context, c Chain) (did SweepReport, _ Chain, err error) {
	a := r.acker
	// A chain of stamps may be acked and nobody has recorded it.
	if c, _, err = a.settle(ctx, c); err != nil {
		return did, c, err
	}
	if c.End() == Open {
		var ended bool
		if c, ended, err = r.overdue(ctx, c); err != nil {
			return did, c, err
		}
		if ended {
			did.TimedOut = 1
		}
	}
	if c.End() == Open {
		a.schedule(c)
		if next := a.nextLook(c, r.now); next.After(c.Due) && !c.Due.After(r.now) {
			_, moved, err := a.store.postpone(ctx, c.Tag, c.Incarnation, c.Due, next)
			if moved {
				did.Postponed = 1
			}
			return did, c, err
		}
		return did, c, nil
	}
	finished, err := a.Finish(ctx, c, r.announce)
	if finished {
		did.Finished = 1
	}
	return did, c, err
}

// prolong gives a part of a fan that is overdue an hour more than its whole tree has, while that is
// open: it may have been extended since, and the tree's own chain times out for its own reason.
func (r *sweepRun) prolong(ctx context.Context, c Chain) (Chain, error) {
	if !c.Sub || c.Deadline.After(r.now) {
		return c, nil
	}
	whole, err := r.acker.whole(ctx, c)
	if err != nil || whole.End() != Open || !whole.IsCreated() {
		return c, err
	}
	until := whole.Deadline
	if until.Before(r.now) {
		until = ddb.ToMillis(r.now)
	}
	c, _, err = r.acker.store.extend(ctx, c.Tag, c.Incarnation, until.Add(partGrace))
	return c, err
}

// overdue times the chain out if its time has come. It returns the chain as it stands then, and
// whether this call ended it.
func (r *sweepRun) overdue(ctx context.Context, c Chain) (Chain, bool, error) {
	c, err := r.prolong(ctx, c)
	if err != nil {
		return c, false, err
	}
	var reason string
	var seen time.Time
	switch {
	case !c.IsCreated():
		return c, false, nil
	case !c.Deadline.After(r.now):
		reason = "no end until " + c.Deadline.Format(time.RFC3339Nano)
	case c.Idle > 0 && !c.Seen.Add(c.Idle).After(r.now):
		reason, seen = "no progress for "+c.Idle.String(), c.Seen
	default:
		return c, false, nil
	}
	return r.acker.store.timeOut(ctx, c, reason, seen, r.now)
}
