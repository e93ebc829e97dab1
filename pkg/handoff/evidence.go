package handoff

import (
	"context"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
)

// evidenceFor is how long what is known of a sink is good for: whoever hands on looks again
// after that.
const evidenceFor = 5 * time.Second

// learnt is what a process knows of its consumers' sinks.
type learnt struct {
	mu    sync.Mutex
	known map[string]evidence
}

// evidence is what was known of a sink at a time.
type evidence struct {
	record.Evidence
	at time.Time
}

// evidence is what is known of a consumer's sink, as it was read within the last seconds.
func (d *Deliverer) evidence(ctx context.Context, consumer string) (record.Evidence, error) {
	now := d.now()
	d.learnt.mu.Lock()
	defer d.learnt.mu.Unlock()
	if known, ok := d.learnt.known[consumer]; ok && now.Sub(known.at).Abs() < evidenceFor {
		return known.Evidence, nil
	}
	e, err := d.store.Evidence(ctx, consumer, false)
	if err == nil {
		d.learnt.known[consumer] = evidence{e, now}
	}
	return e, err
}

// evidence is what is known of the consumer's sink: nothing, where each queue has one of its own.
func (run *delivery) evidence(ctx context.Context, consumer string) (record.Evidence, error) {
	if run.reader.Apart {
		return record.Evidence{Consumer: consumer}, nil
	}
	return run.Deliverer.evidence(ctx, consumer)
}

// noteFailure notes a batch that was not taken, unless nobody else is to know.
func (run *delivery) noteFailure(ctx context.Context, f failed) (record.Evidence, bool) {
	if run.reader.Apart {
		return record.Evidence{Consumer: f.Name}, true
	}
	return run.Deliverer.noteFailure(ctx, f)
}

// failing is what is known of a sink that this process has seen fail: who only ends the claims of
// chains that are done looks no further.
func (d *Deliverer) failing(ctx context.Context, consumer string) record.Evidence {
	d.learnt.mu.Lock()
	known := d.learnt.known[consumer]
	d.learnt.mu.Unlock()
	if len(known.Failing) == 0 {
		return record.Evidence{}
	}
	e, _ := d.evidence(ctx, consumer) // what cannot be known now, nothing can be noted of
	return e
}

// learnCircuit is learn, and tells who has to see to the circuit.
func (d *Deliverer) learnCircuit(ctx context.Context, seen, next record.Evidence) (record.Evidence, bool, error) {
	e, made, err := d.learn(ctx, seen, next)
	if !made || e.Circuit == seen.Circuit {
		return e, made, err
	}
	if e.Circuit.Open() && !seen.Circuit.Open() {
		_ = d.store.Trouble().Put(ctx, openRow(e)) // where it cannot be written now, it is by who sees to it
	}
	d.tellCircuit(e)
	return e, made, err
}

// learn changes what is known of a sink, if nobody else did since it was seen, and returns what
// is known then.
func (d *Deliverer) learn(ctx context.Context, seen, next record.Evidence) (record.Evidence, bool, error) {
	next.By = d.newReq()
	e, made, err := d.store.Learn(ctx, seen, next)
	if err == nil {
		d.learnt.mu.Lock()
		defer d.learnt.mu.Unlock()
		d.learnt.known[e.Consumer] = evidence{e, d.now()}
	}
	return e, made, err
}

// noteTaken notes that a sink took a batch, where others were known to fail when it was handed
// on. Who looked before could not tell whether it was before they failed. What cannot be noted now
// the next batch shows.
func (d *Deliverer) noteTaken(ctx context.Context, seen record.Evidence) {
	if len(seen.Failing) == 0 {
		return
	}
	next := seen
	next.Taken, next.TakenAt = seen.Taken+1, ddb.ToMillis(d.now())
	next.Failing, next.FailingSince = nil, time.Time{}
	if !seen.Circuit.Open() {
		_, _, _ = d.learn(ctx, seen, next)
		return
	}
	if _, made, _ := d.learnCircuit(ctx, seen, closed(next, d.now())); !made {
		d.closes(ctx, seen)
	}
}

// maxNotes is how often a failure is tried to be noted that others are ahead of.
const maxNotes = 5

// noteFailure notes a batch that was not taken, and returns what is known of the sink
// then. It says false where that could not be noted now: the next failure does.
func (d *Deliverer) noteFailure(ctx context.Context, f failed) (record.Evidence, bool) {
	e, err := d.store.Evidence(ctx, f.Name, true)
	for range maxNotes {
		next, changed := f.noted(e, d.now())
		if err != nil || !changed {
			return e, err == nil
		}
		var made bool
		if e, made, err = d.learnCircuit(ctx, e, next); made {
			return e, true
		}
	}
	return e, false
}

// noteCounted notes a failure that counts, with the message where it is its first, or its first alone,
// and returns what is known of the sink then.
func noteCounted(ctx context.Context, note func(context.Context, failed) (record.Evidence, bool), f failed, failure *record.Failure) record.Evidence {
	f.first, f.sink = f.FailingSince.IsZero() || f.Alone() && !f.FailedAlone, true
	known, noted := note(ctx, f)
	if noted && f.first {
		failure.Since, failure.Taken = failure.Now, known.Taken
	}
	return known
}

// tookSince reports whether something is known to have been taken since a message first failed
// alone. A batch that fails says nothing of its first message: another may be the bad one.
func tookSince(c Consumer, e record.Evidence) bool {
	return c.FailedAlone && c.Alone() && e.Taken > c.Taken
}

// isBad reports, before another attempt, whether a message that was tried alone as often as it may is
// known to be bad: its workers died of it, and the sink never refused it; or it failed again after
// something else was taken. What was taken since its last attempt proves nothing: the sink may have
// been away until then. It also finds whether it is overdue.
func (run *delivery) isBad(ctx context.Context, c Consumer) (bool, error) {
	run.overdue = false
	if c.OwnAttempts()+1 < run.reader.MaxAttempts {
		return false, nil
	}
	last := c.OwnAttempts() >= run.reader.MaxAttempts && c.Alone()
	if !c.FailedAlone || c.Proven {
		return last, nil
	}
	back := false
	if run.now().Sub(c.FailingSince) >= run.reader.BlockAfter {
		known, othersFail, err := record.Evidence{}, false, error(nil)
		if !run.reader.Apart {
			known, othersFail, err = run.othersFail(ctx, c)
		}
		if err != nil {
			return false, err
		}
		run.overdue, back = !othersFail, known.TookSince(c.Failed)
	}
	// Of these, no later failure is seen here. A tracked one that failed before the sink is known to be back
	// may have failed by that alone, and is tried once more.
	return last && run.overdue && (c.State == Started || run.reader.Track > 0 && !back), nil
}

// othersFail reports whether a queue fails beside a consumer's, and what is known of the sink. A queue that was noted
// may have been taken since, by somebody who did not know that it failed.
func (d *Deliverer) othersFail(ctx context.Context, c Consumer) (e record.Evidence, fail bool, err error) {
	e, err = d.store.Evidence(ctx, c.Name, true)
	if err != nil {
		return e, false, err
	}
	for _, queue := range e.Failing {
		if queue == c.Queue {
			continue
		}
		other, err := d.store.Consumer(ctx, queue, c.Name)
		if err != nil || other.Fails() {
			return e, true, err
		}
	}
	return e, false, nil
}
