package handoff

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Circuit is when a consumer's sink is taken for away, and how it is found to be back. The
// zero fields mean their defaults.
type Circuit struct {
	// Off has it never open: where each queue has a sink of its own, many that fail say nothing
	// about the others.
	Off bool
	// Queues is how many queues fail, with nothing taken in between, until the circuit is
	// open, 2 to 10; 3.
	Queues int
	// Probes is how long it is to the first probe, and after each one that fails to the next, the
	// last time again and again: 1 to 10 of 0.1 seconds to 1 hour; 5 s, 15 s, 1 min and
	// 2 min where it is empty.
	Probes []time.Duration
	// WakeRate is how many queues a second are woken up when the sink is back, 1 to 1,000; 50.
	WakeRate int
}

// withDefaults is c with its zero fields filled in.
func (c Circuit) withDefaults() Circuit {
	c.Queues = cmp.Or(c.Queues, record.DefaultFailing)
	c.WakeRate = cmp.Or(c.WakeRate, record.DefaultWakeRate)
	if len(c.Probes) == 0 {
		c.Probes = record.DefaultProbes
	}
	return c
}

// validate reports the first field that is out of its bounds.
func (c Circuit) validate() error {
	for _, bound := range []struct {
		field            string
		given, low, high int
	}{
		{"circuit.queues", c.Queues, record.MinFailing, record.MaxFailing},
		{"circuit.wakeRate", c.WakeRate, 1, record.MaxWakeRate},
	} {
		if bound.given < bound.low || bound.given > bound.high {
			return &cursor.InvalidError{Field: bound.field, Code: invalid.OutOfRange, Problem: fmt.Sprintf("is %d: it must be from %d to %d", bound.given, bound.low, bound.high)}
		}
	}
	return validateDelays("circuit.probes", c.Probes)
}

// wait is how long it is to the next probe: up to a tenth longer than the setting, by what the
// evidence is, so that not all consumers of a sink ask it at the same times.
func (c Circuit) wait(e record.Evidence) time.Duration {
	wait := record.RetryAfter(int(e.Circuit.Probes)+1, c.Probes)
	hash := fnv.New32a()
	_, _ = fmt.Fprintf(hash, "%s %d %d", e.Consumer, e.Circuit.Opened.UnixMilli(), e.Circuit.Probes)
	return wait + time.Duration(hash.Sum32()%100)*wait/1000
}

// opened is evidence whose circuit opens now. Rows are told apart by these times: they rise, however far
// the clocks of who opens and who closes it are apart.
func (c Circuit) opened(e record.Evidence, now time.Time) record.Evidence {
	e.Circuit = record.Circuit{Opened: notBefore(e.Circuit.Closed, now), Closed: e.Circuit.Closed}
	e.Circuit.ProbeAt = ddb.ToMillis(now.Add(c.wait(e)))
	return e
}

// closed is evidence whose circuit closes now.
func closed(e record.Evidence, now time.Time) record.Evidence {
	e.Passed = nil
	e.Circuit = record.Circuit{Closed: notBefore(e.Circuit.Opened, now), Waking: true, Announced: e.Circuit.Announced}
	return e
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
	// first tells that its message failed for the first time, sink that it was the sink that
	// did not take it, or cannot be known not to be.
	first, sink bool
	// circuit are the bounds of who handed it on; nil where a chain ended so.
	circuit *Circuit
	// probe is the number of the probe that it was; 0 where it was none.
	probe int64
	// tracked tells that its batches have chains.
	tracked bool
}

// noted is what is known of the sink then, and whether that is a change. A message's first
// failure always is one, so that nobody who handed on before can say later that something was
// taken since.
func (f failed) noted(e record.Evidence, now time.Time) (next record.Evidence, changed bool) {
	next, changed = e, f.first
	room := record.DefaultFailing
	if f.circuit != nil {
		room = f.circuit.Queues
	}
	probed := f.probe > 0 && e.Circuit.Open() && e.Circuit.Probes == f.probe
	opens := f.sink && f.circuit != nil && !f.circuit.Off && !e.Circuit.Open() && !tooSoon(e, now)
	// Where as many are noted already, those of a tracked consumer may be of chains, and others may be paused
	// since before the circuit closed.
	closed := e.Circuit.Closed
	older := f.tracked || !closed.IsZero() && !closed.Before(e.FailingSince)
	unknown := f.sink && !slices.Contains(e.Failing, f.Queue) && (len(e.Failing) < room || older && opens)
	if unknown || f.sink && probed {
		next.Failing, changed = asLast(e.Failing, f.Queue), true
		if len(e.Failing) == 0 {
			next.FailingSince = ddb.ToMillis(now)
		}
	}
	switch {
	case f.circuit == nil:
	case probed:
		next.Circuit.ProbeAt, changed = ddb.ToMillis(now.Add(f.circuit.wait(e))), true
	case opens && len(next.Failing) >= room && slices.Contains(next.Failing, f.Queue):
		next, changed = f.circuit.opened(next, now), true
	}
	return next, changed
}

// lately is for how long it counts that the sink took something.
const lately = time.Minute

// tooSoon reports whether others may still note that the sink takes their batches: it did so lately, beside
// queues that failed, and they look every few seconds.
func tooSoon(e record.Evidence, now time.Time) bool {
	return now.Sub(e.TakenAt).Abs() < lately && now.Sub(e.FailingSince).Abs() < evidenceFor+farAhead
}

// asLast are queues that failed, with one as the last of them: the first for a probe is another
// then.
func asLast(failing []string, queue string) []string {
	others := slices.DeleteFunc(slices.Clone(failing), func(other string) bool { return other == queue })
	return append(others[max(len(others)+1-record.MaxFailing, 0):], queue)
}

// lets reports whether the circuit lets a batch of a queue be handed on. What cannot be known
// now keeps nobody.
func (run *delivery) lets(ctx context.Context) bool {
	run.learnt, _ = run.evidence(ctx, run.Consumer)
	if run.reader.Circuit.Off && run.learnt.Circuit.Open() {
		run.closes(ctx, run.learnt) // it was switched off since
	}
	if circuit := run.learnt.Circuit; run.opens(run.learnt) && run.now().Before(circuit.ProbeAt) {
		run.tellCircuit(run.learnt)
		run.Ended = EndedCircuitOpen
		return false
	}
	return true
}

// opens reports whether the circuit is open, for a consumer that has one.
func (run *delivery) opens(e record.Evidence) bool {
	return e.Circuit.Open() && !run.reader.Circuit.Off
}

// isOpen reports whether the circuit is known to be open.
func (run *delivery) isOpen(ctx context.Context) bool {
	e, _ := run.evidence(ctx, run.Consumer)
	return run.opens(e)
}

// retryAt is when a batch is tried again that failed n times in a row.
func (run *delivery) retryAt(known record.Evidence, n int) time.Time {
	if run.opens(known) {
		return known.Circuit.ProbeAt
	}
	return run.now().Add(record.RetryAfter(n, run.reader.Retries))
}

// probes makes the claim that is to be made a probe, where the circuit is open, and reports
// whether it may be made. One probe is under way at a time: until it fails, or as long as its claim
// is good for.
//
// Another did it first: it probes. We die right after, or cannot know whether we did it: the
// next probe comes in its time.
func (run *delivery) probes(ctx context.Context, leaseUntil time.Time) bool {
	run.probe = 0
	seen := run.learnt
	if !run.opens(seen) {
		return true
	}
	if run.passes(ctx, seen) {
		run.Ended = EndedCircuitOpen
		return false
	}
	next := seen
	next.Passed = nil
	next.Circuit.Probes++
	next.Circuit.ProbeAt = ddb.ToMillis(run.now().Add(run.reader.Circuit.wait(next)))
	if next.Circuit.ProbeAt.Before(leaseUntil) {
		next.Circuit.ProbeAt = ddb.ToMillis(leaseUntil)
	}
	if run.tries(seen, next) {
		if there, made, err := run.learnCircuit(ctx, seen, next); err == nil && made {
			run.learnt, run.probe = there, there.Circuit.Probes
			// Where it is not taken, it is the last that is held back.
			_ = run.store.Trouble().Delete(ctx, held(run.Queue, there, time.Time{}))
			return true
		}
	}
	run.Ended = EndedCircuitOpen
	return false
}

// passes lets a probe pass, and reports whether it did. A queue that is known to fail does so
// once, and once more for each that failed before it did: its message may be a bad one, and another
// queue shows whether the sink is back.
func (run *delivery) passes(ctx context.Context, seen record.Evidence) bool {
	listed := slices.Index(seen.Failing, run.Queue)
	if listed < 0 {
		// More queues fail than are noted: those that do not go first, for as long as others are woken up.
		return run.Record.Fails() && run.now().Before(seen.Circuit.ProbeAt.Add(unprobed))
	}
	passed := 0
	for _, queue := range seen.Passed {
		if queue == run.Queue {
			passed++
		}
	}
	if passed > listed {
		return false
	}
	next := seen
	next.Passed = append(slices.Clip(seen.Passed), run.Queue)
	_, _, _ = run.learn(ctx, seen, next) // what cannot be noted now is when it comes again
	return true
}

// tries reports whether nobody of this process has tried to make the same probe.
func (d *Deliverer) tries(seen, next record.Evidence) bool {
	d.learnt.mu.Lock()
	defer d.learnt.mu.Unlock()
	known := d.learnt.known[seen.Consumer]
	if known.Rev != seen.Rev || known.Circuit != seen.Circuit {
		return false
	}
	known.Circuit.ProbeAt = next.Circuit.ProbeAt
	d.learnt.known[seen.Consumer] = known
	return true
}

// closes closes the circuit that is known to be open, as the sink took a probe, or as there is to be
// none, however the evidence changed meanwhile. Where it cannot be closed now, the next probe does, or who
// looks next.
func (d *Deliverer) closes(ctx context.Context, seen record.Evidence) {
	e, err := d.store.Evidence(ctx, seen.Consumer, true)
	for range maxNotes {
		if err != nil || !e.Circuit.Open() || !e.Circuit.Opened.Equal(seen.Circuit.Opened) {
			return
		}
		var made bool
		if e, made, err = d.learnCircuit(ctx, e, closed(e, d.now())); made {
			return
		}
	}
}

// mended reports whether a sink is known to have come back since a batch of a consumer failed:
// nothing has to be waited for then. A clock that was far ahead as it closed the circuit has all failures
// be before that, for as long as it was ahead: of such a one nothing is known.
func (d *Deliverer) mended(ctx context.Context, c Consumer) bool {
	e, err := d.evidence(ctx, c.Name)
	return err == nil && !e.Circuit.Open() && e.Circuit.Closed.After(c.Failed) && e.Circuit.Closed.Before(d.now().Add(farAhead))
}

// farAhead is more than clocks of AWS's differ.
const farAhead = 5 * time.Second
