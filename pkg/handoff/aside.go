package handoff

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// MinInline and MaxInline bound [Reader].Inline.
	MinInline, MaxInline = 100 * time.Millisecond, time.Minute
	// slowFor is for how long it counts that a queue's batch took longer than it may beside others.
	slowFor = 10 * time.Minute
	// maxSlow is how many of them it remembers.
	maxSlow = 10_000
	// maxSoon is how many times in a row a call of its own waits for a try that is soon.
	maxSoon = 5
)

// errSlow ends a batch that takes longer than it may beside others.
var errSlow = errors.New("it takes longer than it may beside other queues")

// slow remembers the queues whose batches took longer than they may beside others.
type slow struct {
	mu    sync.Mutex
	until map[consumerKey]time.Time
}

func (s *slow) note(queue, consumer string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.until) >= maxSlow {
		clear(s.until)
	}
	s.until[consumerKey{queue, consumer}] = until
}

func (s *slow) is(queue, consumer string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, noted := s.until[consumerKey{queue, consumer}]
	if noted && !now.Before(until) {
		delete(s.until, consumerKey{queue, consumer})
	}
	return noted && now.Before(until)
}

// goesAside reports whether a queue would hold up those that are delivered beside it: its last batch failed, its worker
// died, or it was slow lately.
func (run *delivery) goesAside() bool {
	c, now := run.Record, run.now()
	if run.inline > 0 && c.Answer.Took > run.inline && now.Sub(c.Answer.At).Abs() < slowFor {
		// What this process remembers of an idle consumer has no answer in it.
		run.slow.note(run.Queue, run.Consumer, c.Answer.At.Add(slowFor))
		return true
	}
	return run.inline > 0 && (c.Fails() || c.State == Started || run.slow.is(run.Queue, run.Consumer, now))
}

// asideOf is how long a batch of a reader may take beside others; 0 for as long as it likes.
func (d *Deliverer) asideOf(r Reader) time.Duration {
	if d.aside == nil {
		return 0
	}
	return r.Inline
}

// sendAside has a queue that would hold up others delivered by a call of its own. Where that cannot be asked for now, or is
// lost, a nudge, the wake-up of its retry, or the sweep, comes to it.
func (d *Deliverer) sendAside(ctx context.Context, done Delivery) {
	now := d.now()
	switch done.Ended {
	case EndedAside, EndedOutOfTime:
	case EndedFailed:
		if done.Record.RetryAt.Sub(now) > soon {
			return
		}
	default:
		return
	}
	err := d.aside(ctx, done.Queue, done.Consumer)
	switch {
	case err == nil:
	case done.Ended == EndedOutOfTime:
		// Nothing is due of it, so a wake-up would find nothing: it is woken up as a queue without calls of its own is.
		_ = d.sorter.Nudge(ctx, done.Queue) // else the sweep comes to it
	default:
		d.wake(done, now.Add(soon))
	}
}

// wake tells when a consumer of a queue should be seen to.
func (d *Deliverer) wake(done Delivery, at time.Time) {
	if d.wakeUp != nil {
		d.wakeUp(done.Queue, done.Consumer, at)
	}
}

// DeliverAside delivers to a reader of one queue, which would have held up others: call it when [Options].Aside was. It is
// Deliver, which also waits for a try that is due within 5 seconds; and where there is more than there is time for, it
// has itself called again.
func (d *Deliverer) DeliverAside(ctx context.Context, queue string, r Reader) Delivery {
	var done Delivery
	for range maxSoon {
		done = d.Deliver(ctx, queue, r, -1)
		if done.Err != nil || done.Ended != EndedFailed && done.Ended != EndedWait {
			break
		}
		wait := max(done.Record.RetryAt.Sub(d.now()), 0)
		if wait > soon || !d.hasTime(ctx, time.Time{}, wait+d.margin) || d.sleep(ctx, wait) != nil {
			break
		}
	}
	if d.aside != nil && done.Err == nil && done.Ended == EndedOutOfTime {
		d.sendAside(ctx, done)
	}
	return done
}
