package delivery

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// minInline and maxInline bound [Reader].Inline.
	minInline, maxInline = 100 * time.Millisecond, time.Minute
	// slowFor is for how long it counts that a queue's batch took longer than it may beside others.
	slowFor = 10 * time.Minute
	// maxSlow is how many of them it remembers.
	maxSlow = 10_000
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

// goesAside reports whether a queue would hold up those that are delivered beside it: its last
// batch failed, its worker died, or it was slow lately.
func (run *delivery) goesAside() bool {
	c, now := run.Record, run.now()
	if run.inline > 0 && c.Answer.Took > run.inline && now.Sub(c.Answer.At).Abs() < slowFor {
		// What this process remembers of an idle consumer has no answer in it.
		run.slow.note(run.Queue, run.Consumer, c.Answer.At.Add(slowFor))
		return true
	}
	return run.inline > 0 && (c.Fails() || c.Attempts > 0 || run.slow.is(run.Queue, run.Consumer, now))
}

// asideOf is how long a batch of a reader may take beside others; 0 for as long as it likes.
func (d *Deliverer) asideOf(r Reader) time.Duration {
	if d.aside == nil {
		return 0
	}
	return r.Inline
}

// sendAside has a queue that would hold up others delivered by a call of its own. What failed is
// not: its retry has a wake-up. Where the call cannot be asked for now, a wake-up has that tried
// again; where it is lost, the sweep comes to the queue.
func (d *Deliverer) sendAside(ctx context.Context, done Delivery) {
	if done.Reason != reasonIsolated && done.Reason != reasonTime {
		return
	}
	if d.aside(ctx, done.Queue, done.Consumer) != nil && d.wakeUp != nil {
		d.wakeUp(done.Queue, done.Consumer, d.now().Add(soon))
	}
}
