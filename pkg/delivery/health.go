package delivery

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
)

const (
	// lookFor is how long a look at a sink's health is good for: then the process looks again.
	lookFor = 5 * time.Second
	// blindFor is how long a look that failed is remembered: all queues of a name ask for one.
	blindFor = time.Second
	// steady is how long the sink must have taken nothing until the breaker opens, and how far
	// apart two notes are of what it takes.
	steady = 10 * time.Second
	// unseen is how old the last note of what the sink took must be until the breaker opens: a
	// process may note the next one steady after it, and looks every lookFor.
	unseen = steady + lookFor
	// minGood is how long an entry of the queues that fail is good for at least.
	minGood = 15 * time.Minute
	// maxNotes is how often a process tries to note something that others change meanwhile.
	maxNotes = 5
)

// goodFor is how long an entry of the queues that fail is good for, where they are tried again by
// these schedules: each has failed again, or was taken, by then.
func goodFor(retries, probes []time.Duration) time.Duration {
	return max(minGood, 3*slices.Max(retries), 3*slices.Max(probes))
}

// looks is what a process knows of its consumers' sinks.
type looks struct {
	mu sync.Mutex
	of map[string]*look
}

// look is what was last seen of a sink, or why nothing could be.
type look struct {
	// turn is held by the one that reads.
	turn    chan struct{}
	health  request.Health
	at      time.Time
	err     error
	blindAt time.Time
}

// known is what the process knows at a time, and whether it need not look again.
func (l *looks) known(consumer string,
	now time.Time) (of *look, h request.Health, known bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of = l.of[consumer]
	if of == nil {
		of = &look{turn: make(chan struct{}, 1)}
		l.of[consumer] = of
	}
	switch {
	case !of.at.IsZero() && now.Sub(of.at).Abs() < lookFor:
		return of, of.health, true, nil
	case of.err != nil && now.Sub(of.blindAt).Abs() < blindFor:
		return of, request.Health{}, true, of.err
	}
	return of, of.health, false, nil
}

// saw remembers what was read, or why nothing could be.
func (l *looks) saw(of *look, h request.Health, err error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		of.err, of.blindAt = err, now
		return
	}
	of.health, of.at, of.err = h, now, nil
}

// health is what is known of a consumer's sink, as it was read within the last seconds. One reads
// at a time, and the others of the process take what it read.
func (d *Deliverer) health(ctx context.Context, consumer string) (request.Health, error) {
	of, h, known, err := d.looks.known(consumer, d.now())
	if known {
		return h, err
	}
	select {
	case of.turn <- struct{}{}:
		defer func() { <-of.turn }()
	case <-ctx.Done():
		return request.Health{}, ctx.Err()
	}
	if _, h, known, err = d.looks.known(consumer, d.now()); known {
		return h, err
	}
	h, err = d.store.Health(ctx, consumer, false)
	if err == nil || ctx.Err() == nil {
		d.looks.saw(of, h, err, d.now())
	}
	return h, err
}

// health is what is known of the consumer's sink: nothing, where each queue has one of its own.
func (run *delivery) health(ctx context.Context, consumer string) (request.Health, error) {
	if run.reader.Apart {
		return request.Health{Consumer: consumer}, nil
	}
	return run.Deliverer.health(ctx, consumer)
}

// learnCircuit is learn, and notifies those that handle the breaker where it changed.
func (d *Deliverer) learnCircuit(ctx context.Context,
	seen, next request.Health) (request.Health, bool, error) {
	h, made, err := d.learn(ctx, seen, next)
	if !made || h.Circuit == seen.Circuit {
		return h, made, err
	}
	if h.Circuit.Open() && !seen.Circuit.Open() {
		_ = d.store.Trouble().Put(ctx, openRow(h)) // the sweep writes it otherwise
	}
	d.tellCircuit(h)
	return h, made, err
}

// learn changes what is known of a sink, if nobody else did since it was seen, and returns what is
// known then.
func (d *Deliverer) learn(ctx context.Context,
	seen, next request.Health) (request.Health, bool, error) {
	next.By = d.newReq()
	h, made, err := d.store.Learn(ctx, seen, next)
	if err == nil {
		d.saw(h)
	}
	return h, made, err
}

// saw remembers what is known of a sink now.
func (d *Deliverer) saw(h request.Health) {
	of, _, _, _ := d.looks.known(h.Consumer, d.now())
	d.looks.saw(of, h, nil, d.now())
}

// noteTaken notes that the sink took a batch, where it was known to fail, or the breaker was open,
// when the batch was handed over. Where that cannot be noted now, the next batch does.
func (d *Deliverer) noteTaken(ctx context.Context, seen request.Health,
	handed time.Time, probe bool) {
	probed := seen.Circuit.Opened
	for range maxNotes {
		next, changed := taken(seen, handed, probe && seen.Circuit.Opened.Equal(probed), d.now())
		if !changed {
			return
		}
		h, made, err := d.learnCircuit(ctx, seen, next)
		if made || err != nil {
			return
		}
		seen = h
	}
}

// taken is the health of a sink that took a batch, which may be a probe, and whether that is to be
// noted. A batch counts from when it was handed over: its sink may have gone away since.
func taken(h request.Health, handed time.Time, probe bool,
	now time.Time) (next request.Health, changed bool) {
	open, late := h.Circuit.Open(), !handed.After(h.TakenAt)
	switch {
	case open && (probe || handed.After(h.Circuit.Opened)):
		h = closed(h, now)
	case late, !open && (len(h.Failing) == 0 || handed.Sub(h.TakenAt) < steady):
		return h, false
	}
	h.Failing, h.FailingSince = nil, time.Time{}
	if !late {
		h.TakenAt = ddb.ToMillis(handed)
	}
	return h, true
}

// noteFailure notes a batch that was not taken, and returns what is known of the sink then. It is
// false where that could not be noted now: the next failure does.
func (d *Deliverer) noteFailure(ctx context.Context, f failed) (request.Health, bool) {
	h, err := d.store.Health(ctx, f.Name, true)
	for range maxNotes {
		next, changed := f.noted(h, d.now())
		if err != nil {
			return h, false
		}
		if !changed {
			d.saw(h)
			return h, true
		}
		var made bool
		if h, made, err = d.learnCircuit(ctx, h, next); made {
			return h, true
		}
	}
	return h, false
}

// noteFailure notes a batch that was not taken, unless the sink is the queue's own.
func (run *delivery) noteFailure(ctx context.Context, f failed) request.Health {
	if run.reader.Apart {
		return request.Health{Consumer: f.Name}
	}
	h, _ := run.Deliverer.noteFailure(ctx, f)
	return h
}

// count notes a failure that may be the message's or the sink's, and what it proves: that the sink
// took something that was handed over after the failure before this one, or that no other queue
// fails.
func (d *Deliverer) count(ctx context.Context, f failed, failure *request.Failure) request.Health {
	if f.alone() && f.FailingSince.IsZero() {
		failure.Since = failure.Now
	}
	if f.apart {
		failure.Proven = true
		return request.Health{Consumer: f.Name}
	}
	f.sink = !f.part
	h, known := d.noteFailure(ctx, f)
	others := slices.ContainsFunc(h.Still(failure.Now, f.good), func(o request.FailingQueue) bool {
		return o.Queue != f.Queue
	})
	failure.Proven = known && (h.TakenAt.After(f.Failed) || !others)
	return h
}

// unlist takes the queue of a consumer that is gone from those that fail. What cannot be noted now
// ends with its entry.
func (d *Deliverer) unlist(ctx context.Context, c Consumer) {
	h, err := d.store.Health(ctx, c.Name, true)
	if err != nil {
		return
	}
	next := h
	next.Failing = slices.DeleteFunc(slices.Clone(h.Failing), func(f request.FailingQueue) bool {
		return f.Queue == c.Queue
	})
	if len(next.Failing) == 0 {
		next.FailingSince = time.Time{}
	}
	if len(next.Failing) < len(h.Failing) {
		_, _, _ = d.learn(ctx, h, next)
	}
}

// isBad reports, before another attempt, whether a message that was tried alone as often as it may
// blocks its queue: its workers died of it, and it never failed or has for long enough; or its last
// failure said so, which was noted by a process that did not know the reader's bounds.
func isBad(c Consumer, attempts int, blockAfter time.Duration, now time.Time) bool {
	outcome, _ := c.Outcome(c.Token)
	died := c.State == Started || outcome == Cancelled && c.RetryAt.IsZero() // the sweep ended it
	switch since := c.FailingSince; {
	case c.ownAttempts() < attempts || !c.alone():
		return false
	case since.IsZero():
		return true
	case died:
		return now.Sub(since) >= blockAfter
	default:
		return c.Proven && c.Failed.Sub(since) >= blockAfter
	}
}
