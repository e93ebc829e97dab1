package handoff

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in memory: for tests of code that uses this package, and
// for simulation. It keeps the promises of Store that a real table keeps, and
// everything is gone with the process. The zero Memory is ready to use.
type Memory struct {
	mu        sync.Mutex
	consumers map[reader]Consumer
	acts      map[reader]Act // by queue and actKey
}

var _ Store = (*Memory)(nil)

// reader is the key of a consumer.
type reader struct{ queue, name string }

// CreateConsumer implements [Store].
func (s *Memory) CreateConsumer(ctx context.Context, c Consumer) (Consumer, bool, error) {
	if err := ctx.Err(); err != nil {
		return Consumer{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reader{c.Queue, c.Name}
	if there, ok := s.consumers[key]; ok {
		return there, there.LastOp == c.LastOp, nil
	}
	if s.consumers == nil {
		s.consumers = map[reader]Consumer{}
	}
	s.consumers[key] = c
	return c, true, nil
}

// Consumer implements [Store].
func (s *Memory) Consumer(ctx context.Context, queue, name string) (Consumer, error) {
	if err := ctx.Err(); err != nil {
		return Consumer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.consumers[reader{queue, name}], nil
}

// memoryPage is how many consumers or acts a page has.
const memoryPage = 100

// Consumers implements [Store].
func (s *Memory) Consumers(ctx context.Context, queue, after string) ([]Consumer, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for key := range s.consumers {
		if key.queue == queue && key.name > after {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	next := ""
	if len(names) > memoryPage {
		names = names[:memoryPage]
		next = names[memoryPage-1]
	}
	var page []Consumer
	for _, name := range names {
		page = append(page, s.consumers[reader{queue, name}])
	}
	return page, next, nil
}

// update changes the consumer if there is one and the condition holds.
func (s *Memory) update(ctx context.Context, queue, name string, condition func(Consumer) bool, change func(*Consumer)) (Consumer, bool, error) {
	if err := ctx.Err(); err != nil {
		return Consumer{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.consumers[reader{queue, name}]
	if !c.Exists() || !condition(c) {
		return c, false, nil
	}
	change(&c)
	s.consumers[reader{queue, name}] = c
	return c, true, nil
}

// takeable is the condition of Claim and Block. The place is compared too: a
// consumer that was removed and made anew, or restored, may be elsewhere under the
// same number.
func takeable(seen Consumer, now time.Time) func(Consumer) bool {
	return func(c Consumer) bool {
		return c.Token.N == seen.Token.N && c.State == seen.State && c.Delivered == seen.Delivered && c.Paused == "" && c.Starting == "" &&
			(c.State == Idle || c.over(now) && !c.Tracked)
	}
}

// end notes what became of the claim that is out.
func (c *Consumer) end(outcome TokenOutcome) {
	c.Outcomes[c.Token.N%remembered] = Remember(c.Token, outcome)
}

// takeOver ends the claim that is out, if one is, because its lease is over.
func (c *Consumer) takeOver() {
	if c.State == Started {
		c.end(Cancelled)
		c.SingleTo = max(c.SingleTo, c.To)
	}
}

// claim is the next claim, of the range behind from.
func (c *Consumer) claim(from int64, claim Claim) {
	c.Token = Token{c.Token.N + 1, claim.Req}
	c.From, c.To = from, claim.To
	c.State, c.LeaseUntil, c.RetryAt = Started, milliseconds(claim.LeaseUntil), time.Time{}
	c.Tracked = claim.Tracked
}

// block is the end of all claims, for an operator to see to.
func (c *Consumer) block(now time.Time) {
	c.State, c.Token.N, c.BlockedSince, c.RetryAt = Blocked, c.Token.N+1, milliseconds(now), time.Time{}
}

// fail ends the claim that is out, and notes why. Its messages are tried again
// one by one, or not at all for now.
func (c *Consumer) fail(failure Failure) {
	c.end(Aborted)
	c.SingleTo, c.Failed, c.Error = c.To, milliseconds(failure.Now), failure.Error
	if failure.Block {
		c.block(failure.Now)
		return
	}
	c.State, c.RetryAt = Idle, milliseconds(failure.RetryAt)
}

// calm forgets what failed.
func (c *Consumer) calm() { c.Failed, c.Error = time.Time{}, "" }

// Claim implements [Store].
func (s *Memory) Claim(ctx context.Context, seen Consumer, claim Claim) (Consumer, bool, error) {
	c, made, err := s.update(ctx, seen.Queue, seen.Name, takeable(seen, claim.Now), func(c *Consumer) {
		c.takeOver()
		c.claim(c.Delivered, claim)
		c.Attempts++
	})
	return c, made || c.holds(Token{seen.Token.N + 1, claim.Req}), err
}

// Block implements [Store].
func (s *Memory) Block(ctx context.Context, seen Consumer, now time.Time) (Consumer, bool, error) {
	return s.update(ctx, seen.Queue, seen.Name, takeable(seen, now), func(c *Consumer) {
		c.takeOver()
		c.block(now)
	})
}

func held(t Token) func(Consumer) bool { return func(c Consumer) bool { return c.holds(t) } }

// Commit implements [Store].
func (s *Memory) Commit(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, held(token), func(c *Consumer) {
		c.end(Committed)
		c.State, c.Delivered, c.Attempts, c.RetryAt, c.Tracked = Idle, c.To, 0, time.Time{}, false
		c.calm()
	})
	outcome, known := c.outcome(token)
	return c, made || known && outcome == Committed, err
}

// CommitAndClaim implements [Store].
func (s *Memory) CommitAndClaim(ctx context.Context, queue, name string, token Token, claim Claim) (Consumer, bool, error) {
	return s.commitAndClaim(ctx, queue, name, token, claim, held(token))
}

// commitAndClaim commits the claim that is out, on a condition, and makes the
// next one.
func (s *Memory) commitAndClaim(ctx context.Context, queue, name string, token Token, claim Claim, condition func(Consumer) bool) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name,
		func(c Consumer) bool { return condition(c) && c.Paused == "" && c.Starting == "" },
		func(c *Consumer) {
			c.end(Committed)
			c.Delivered, c.Attempts = c.To, 1
			c.claim(c.To, claim)
			c.calm()
		})
	return c, made || c.holds(Token{token.N + 1, claim.Req}), err
}

// Fail implements [Store].
func (s *Memory) Fail(ctx context.Context, queue, name string, token Token, failure Failure) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, held(token), func(c *Consumer) {
		c.Tracked = false
		c.fail(failure)
	})
	outcome, known := c.outcome(token)
	return c, made || known && outcome == Aborted, err
}

// Cancel implements [Store].
func (s *Memory) Cancel(ctx context.Context, seen Consumer, block bool, now time.Time) (Consumer, bool, error) {
	return s.update(ctx, seen.Queue, seen.Name,
		func(c Consumer) bool {
			return c.Token.N == seen.Token.N && c.over(now) && !c.Tracked
		},
		func(c *Consumer) {
			c.end(Cancelled)
			c.SingleTo = c.To
			if block {
				c.block(now)
				return
			}
			c.State = Idle
		})
}

// Unblock implements [Store].
func (s *Memory) Unblock(ctx context.Context, seen Consumer, skip bool, op string) (Consumer, bool, error) {
	c, made, err := s.update(ctx, seen.Queue, seen.Name,
		func(c Consumer) bool {
			return c.Token.N == seen.Token.N && c.State == Blocked && c.Delivered == seen.Delivered
		},
		func(c *Consumer) {
			if skip {
				c.Delivered++
			}
			c.operated(op)
		})
	return c, made || c.Exists() && c.LastOp == op, err
}

// operated is what an operator's unblocking or rewinding leaves.
func (c *Consumer) operated(op string) {
	c.State, c.Attempts, c.LastOp = Idle, 0, op
	c.Token.N++
	c.RetryAt, c.BlockedSince = time.Time{}, time.Time{}
	c.calm()
}

// Rewind implements [Store].
func (s *Memory) Rewind(ctx context.Context, seen Consumer, delivered int64, op string) (Consumer, bool, error) {
	c, made, err := s.update(ctx, seen.Queue, seen.Name,
		func(c Consumer) bool { return c.Token.N == seen.Token.N && (c.State == Idle || c.State == Blocked) },
		func(c *Consumer) {
			c.Delivered, c.Starting, c.SingleTo = delivered, op, 0
			c.Rewinds++
			c.operated(op)
		})
	return c, made || c.Exists() && c.LastOp == op, err
}

// FinishStart implements [Store].
func (s *Memory) FinishStart(ctx context.Context, queue, name, op string, delivered int64) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name,
		func(c Consumer) bool { return c.Starting == op && op != "" },
		func(c *Consumer) { c.Delivered, c.Starting = delivered, "" })
	return c, made || c.Exists() && c.Starting == "" && c.LastOp == op, err
}

// Pause implements [Store].
func (s *Memory) Pause(ctx context.Context, queue, name, reason string, now time.Time) (Consumer, bool, error) {
	return s.update(ctx, queue, name,
		func(Consumer) bool { return true },
		func(c *Consumer) {
			c.Paused, c.PausedSince = reason, time.Time{}
			if reason != "" {
				c.PausedSince = milliseconds(now)
			}
		})
}

// Remove implements [Store].
func (s *Memory) Remove(ctx context.Context, seen Consumer) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reader{seen.Queue, seen.Name}
	c, ok := s.consumers[key]
	if ok && (c.Token.N != seen.Token.N || c.claimed() || c.Quarantine[0] != Quarantined{}) {
		return false, nil
	}
	delete(s.consumers, key)
	return true, nil
}

// RecordAct implements [Store].
func (s *Memory) RecordAct(ctx context.Context, act Act) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.acts == nil {
		s.acts = map[reader]Act{}
	}
	s.acts[reader{act.Queue, actKey(act)}] = act
	return nil
}

// Acts implements [Store].
func (s *Memory) Acts(ctx context.Context, queue, after string) ([]Act, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.acts {
		if key.queue == queue && (after == "" || key.name < after) {
			keys = append(keys, key.name)
		}
	}
	slices.Sort(keys)
	slices.Reverse(keys)
	next := ""
	if len(keys) > memoryPage {
		keys = keys[:memoryPage]
		next = keys[memoryPage-1]
	}
	var page []Act
	for _, key := range keys {
		page = append(page, s.acts[reader{queue, key}])
	}
	return page, next, nil
}
