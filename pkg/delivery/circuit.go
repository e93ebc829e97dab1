package delivery

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
)

// Circuit is when a consumer's sink is taken for away, and how it is found to be back. The zero
// fields mean their defaults.
type Circuit struct {
	// Off has it never open: where each queue has a sink of its own, many that fail say nothing
	// about the others.
	Off bool
	// Queues is how many queues fail, with nothing taken for 10 seconds, until the circuit is open,
	// 2 to 10; 3.
	Queues int
	// Probes is how long it is to the first probe, and after each one that fails to the next, the
	// last time again and again: 1 to 10 of 0.1 seconds to 1 hour; 5 s, 15 s, 1 min and 2 min where
	// it is empty.
	Probes []time.Duration
	// WakeRate is how many queues a second are woken up when the sink is back, 1 to 1,000; 50.
	WakeRate int
}

func (c Circuit) withDefaults() Circuit {
	c.Queues = cmp.Or(c.Queues, request.DefaultFailing)
	c.WakeRate = cmp.Or(c.WakeRate, request.DefaultWakeRate)
	if len(c.Probes) == 0 {
		c.Probes = request.DefaultProbes
	}
	return c
}

func (c Circuit) validate() error {
	return cmp.Or(
		bounds.Check("circuit.queues", c.Queues, request.MinFailing, request.MaxFailing),
		bounds.Check("circuit.wakeRate", c.WakeRate, 1, request.MaxWakeRate),
		validateDelays("circuit.probes", c.Probes),
	)
}

// wait is how long it is to the next probe: up to a tenth longer than the setting, by what the
// health is, so that not all consumers of a sink ask it at the same times.
func (c Circuit) wait(h request.Health) time.Duration {
	wait := request.RetryAfter(int(h.Circuit.Probes)+1, c.Probes)
	hash := fnv.New32a()
	_, _ = fmt.Fprintf(hash, "%s %d %d", h.Consumer, h.Circuit.Opened.UnixMilli(), h.Circuit.Probes)
	return wait + time.Duration(hash.Sum32()%100)*wait/1000
}

// opened is a health whose circuit opens now. Rows are distinguished by these times: they rise,
// however far the clocks of who opens and who closes it are apart.
func (c Circuit) opened(h request.Health, now time.Time) request.Health {
	h.Circuit = request.Circuit{Opened: notBefore(h.Circuit.Closed, now), Closed: h.Circuit.Closed}
	h.Circuit.ProbeAt = ddb.ToMillis(now.Add(c.wait(h)))
	return h
}

func closed(h request.Health, now time.Time) request.Health {
	h.Circuit = request.Circuit{Closed: notBefore(h.Circuit.Opened, now), Waking: true,
		Announced: h.Circuit.Announced}
	return h
}

// notBefore is now, to the millisecond, or the time that was noted before where that is later.
func notBefore(noted, now time.Time) time.Time {
	if now = ddb.ToMillis(now); now.Before(noted) {
		return noted
	}
	return now
}

// failed is a batch that was not taken, as it is noted.
type failed struct {
	Consumer
	// sink tells that the sink did not take it, or cannot be known to have.
	sink bool
	// part tells that the sink took messages of the batch, which count as taken.
	part bool
	// apart tells that the queue has a sink of its own, good how long an entry of it is good for.
	apart bool
	good  time.Duration
	// circuit are the bounds of the reader that handed it over; nil where a chain ended so.
	circuit *Circuit
	// probe is the number of the probe that it was; 0 where it was none.
	probe int64
}

// failed is the batch that is under way, as it is noted where it is not taken.
func (run *delivery) failed(c Consumer) failed {
	return failed{Consumer: c, apart: run.reader.Apart,
		good: goodFor(run.reader.Retries, run.reader.Circuit.Probes), circuit: &run.reader.Circuit,
		probe: run.probe}
}

// noted is what is known of the sink then, and whether that is a change.
func (f failed) noted(h request.Health, now time.Time) (next request.Health, changed bool) {
	next = h
	next.Failing = h.Still(now, f.good)
	if f.sink {
		next, changed = f.listed(next, now)
	}
	probed := f.probe > 0 && h.Circuit.Probes == f.probe
	switch {
	case f.circuit == nil:
	case probed:
		next.Circuit.ProbeAt, changed = ddb.ToMillis(now.Add(f.circuit.wait(h))), true
	case f.sink && f.opens(next, now):
		next, changed = f.circuit.opened(next, now), true
	}
	return next, changed
}

// listed has the queue among those that fail, and reports whether that is a change: an entry is
// renewed when a third of its time is over.
func (f failed) listed(h request.Health, now time.Time) (next request.Health, changed bool) {
	if len(h.Failing) == 0 {
		h.FailingSince = ddb.ToMillis(now)
	}
	at := slices.IndexFunc(h.Failing, func(o request.FailingQueue) bool { return o.Queue == f.Queue })
	entry := request.FailingQueue{Queue: f.Queue, At: ddb.ToMillis(now)}
	switch {
	case at < 0 && len(h.Failing) < request.MaxFailing:
		h.Failing = append(h.Failing, entry)
	case at >= 0 && now.Sub(h.Failing[at].At) > f.good/3:
		h.Failing[at] = entry
	default:
		return h, false
	}
	return h, true
}

// opens reports whether the circuit opens: as many queues fail, and the sink has taken nothing for
// some time, or so many fail that it needs no proof.
func (f failed) opens(h request.Health, now time.Time) bool {
	return !f.circuit.Off && !h.Circuit.Open() && len(h.Failing) >= f.circuit.Queues &&
		now.Sub(h.TakenAt) >= unseen &&
		(now.Sub(h.FailingSince) >= steady || len(h.Failing) == request.MaxFailing)
}

// lets reports whether the circuit lets a batch of a queue be handed over. What cannot be known now
// stops nobody.
func (run *delivery) lets(ctx context.Context) bool {
	run.learnt, _ = run.health(ctx, run.Consumer)
	if run.reader.Circuit.Off && run.learnt.Circuit.Open() {
		run.closes(ctx, run.learnt) // it was switched off since
	}
	if !run.opens(run.learnt) {
		return true
	}
	due, now := run.learnt.Circuit.ProbeAt, run.now()
	switch {
	case now.Before(due):
		run.tellCircuit(run.learnt)
	case run.Record.Fails() && now.Before(due.Add(unprobed)):
		// Its message may be a bad one: others go first, which are woken up by now.
		if run.wakeCircuit != nil {
			run.wakeCircuit(run.Consumer, due.Add(unprobed))
		}
	default:
		return true
	}
	run.end(Wait, reasonCircuit)
	return false
}

// opens reports whether the circuit is open, for a consumer that has one.
func (run *delivery) opens(h request.Health) bool {
	return h.Circuit.Open() && !run.reader.Circuit.Off
}

// retryAt is when a batch is tried again that failed n times in a row.
func (run *delivery) retryAt(known request.Health, n int) time.Time {
	if run.opens(known) {
		return known.Circuit.ProbeAt
	}
	return run.now().Add(request.RetryAfter(n, run.reader.Retries))
}

// probes makes the claim that is to be made a probe, where the circuit is open, and reports whether
// it may be made. One probe is under way at a time: until it fails, or as long as its claim is good
// for.
//
// Another did it first: it probes. We die right after, or cannot know whether we did it: the next
// probe comes in its time.
func (run *delivery) probes(ctx context.Context, leaseUntil time.Time) bool {
	run.probe = 0
	seen := run.learnt
	if !run.opens(seen) {
		return true
	}
	next := seen
	next.Circuit.Probes++
	next.Circuit.ProbeAt = ddb.ToMillis(run.now().Add(run.reader.Circuit.wait(next)))
	if next.Circuit.ProbeAt.Before(leaseUntil) {
		next.Circuit.ProbeAt = ddb.ToMillis(leaseUntil)
	}
	if run.tries(seen, next) {
		if there, made, err := run.learnCircuit(ctx, seen, next); err == nil && made {
			run.learnt, run.probe = there, there.Circuit.Probes
			// Where it is not taken, it is the last that is held back.
			_ = run.store.Trouble().Delete(ctx, held(run.Queue, 0, there, time.Time{}))
			return true
		}
	}
	run.end(Wait, reasonCircuit)
	return false
}

// tries reports whether nobody of this process has tried to make the same probe.
func (d *Deliverer) tries(seen, next request.Health) bool {
	d.looks.mu.Lock()
	defer d.looks.mu.Unlock()
	known := d.looks.of[seen.Consumer]
	if known == nil || known.health.Rev != seen.Rev || known.health.Circuit != seen.Circuit {
		return false
	}
	known.health.Circuit.ProbeAt = next.Circuit.ProbeAt
	return true
}

// closes closes the circuit that is known to be open, as the sink took a tracked probe, or as there
// is to be none, however its health changed meanwhile. Where it cannot be closed now, the next
// probe does, or the next process that looks.
func (d *Deliverer) closes(ctx context.Context, seen request.Health) {
	h, err := d.store.Health(ctx, seen.Consumer, true)
	for range maxNotes {
		if err != nil || !h.Circuit.Open() || !h.Circuit.Opened.Equal(seen.Circuit.Opened) {
			return
		}
		var made bool
		if h, made, err = d.learnCircuit(ctx, h, closed(h, d.now())); made {
			return
		}
	}
}

// recovered reports whether a sink is known to have come back since a batch of a consumer failed:
// nothing has to be waited for then. A clock that was far ahead as it closed the circuit has all
// failures be before that, for as long as it was ahead: of such a one nothing is known.
func (d *Deliverer) recovered(ctx context.Context, c Consumer) bool {
	h, err := d.health(ctx, c.Name)
	return err == nil && !h.Circuit.Open() && h.Circuit.Closed.After(c.Failed) &&
		h.Circuit.Closed.Before(d.now().Add(farAhead))
}

// farAhead is more than clocks of AWS's differ.
const farAhead = 5 * time.Second
