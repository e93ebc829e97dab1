package handoff

import (
	"context"
	"time"
)

// owned is the condition that the claim of a token is out, in one of the states.
func owned(t Token, states ...State) func(Consumer) bool {
	return func(c Consumer) bool { return c.owns(t, states...) }
}

// Prepare implements [Store].
func (s *Memory) Prepare(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, owned(token, Started), func(c *Consumer) { c.State = Ready })
	return c, made || c.owns(token, Ready), err
}

// Extend implements [Store].
func (s *Memory) Extend(ctx context.Context, queue, name string, token Token, until time.Time) (Consumer, bool, error) {
	return s.update(ctx, queue, name, owned(token, Started, Ready), func(c *Consumer) { c.LeaseUntil = milliseconds(until) })
}

// CommitPrepared implements [Store].
func (s *Memory) CommitPrepared(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, owned(token, Ready, Unknown), func(c *Consumer) {
		c.end(Committed)
		c.State, c.Delivered, c.Attempts, c.RetryAt = Idle, c.To, 0, time.Time{}
		c.calm()
	})
	return c, made || c.ended(token, Committed), err
}

// CommitPreparedAndClaim implements [Store].
func (s *Memory) CommitPreparedAndClaim(ctx context.Context, queue, name string, token Token, claim Claim) (Consumer, bool, error) {
	return s.commitAndClaim(ctx, queue, name, token, claim, owned(token, Ready, Unknown))
}

// AbortPrepared implements [Store].
func (s *Memory) AbortPrepared(ctx context.Context, queue, name string, token Token, failure Failure) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, owned(token, Started, Ready, Unknown), func(c *Consumer) { c.fail(failure) })
	return c, made || c.ended(token, Aborted), err
}

// MarkUnknown implements [Store].
func (s *Memory) MarkUnknown(ctx context.Context, seen Consumer, now time.Time) (Consumer, bool, error) {
	return s.update(ctx, seen.Queue, seen.Name,
		func(c Consumer) bool { return c.owns(seen.Token, Ready) && c.LeaseUntil.Before(milliseconds(now)) },
		func(c *Consumer) { c.State = Unknown })
}

// Quarantine implements [Store].
func (s *Memory) Quarantine(ctx context.Context, seen Consumer, old time.Time) (Consumer, bool, error) {
	c, made, err := s.update(ctx, seen.Queue, seen.Name,
		func(c Consumer) bool {
			return c.owns(seen.Token, Unknown) && c.LeaseUntil.Before(milliseconds(old)) &&
				c.Quarantine[MaxQuarantined-1] == Quarantined{}
		},
		func(c *Consumer) {
			c.setQuarantined(seen.Token.N, aside(seen))
			c.State, c.Delivered, c.Attempts, c.RetryAt = Idle, c.To, 0, time.Time{}
			c.calm()
		})
	_, there := c.quarantined(seen.Token)
	return c, made || there, err
}

// SettleQuarantined implements [Store].
func (s *Memory) SettleQuarantined(ctx context.Context, queue, name string, token Token, outcome TokenOutcome, remember bool, op string) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name,
		func(c Consumer) bool {
			q, there := c.quarantined(token)
			return there && q.Unsettled() && (!remember || outcome != Committed || c.Outcomes[token.N%remembered].N < token.N)
		},
		func(c *Consumer) {
			q, _ := c.quarantined(token)
			if op != "" {
				c.LastOp = op
			}
			if outcome != Committed {
				q.State = quarantinedAborted
				c.setQuarantined(token.N, q)
				return
			}
			c.setQuarantined(token.N, Quarantined{})
			if remember {
				c.Outcomes[token.N%remembered] = Remember(token, Committed)
			}
		})
	return c, made || c.settled(token, outcome) || c.operatedBy(op), err
}

// Release implements [Store].
func (s *Memory) Release(ctx context.Context, queue, name string, token Token, op string) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name,
		func(c Consumer) bool {
			q, there := c.quarantined(token)
			return there && !q.Unsettled()
		},
		func(c *Consumer) {
			c.setQuarantined(token.N, Quarantined{})
			c.LastOp = op
		})
	return c, made || c.operatedBy(op), err
}
