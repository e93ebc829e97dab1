package handoff

import (
	"context"
	"time"
)

// replying is the part of [Store] that replies add. All said there holds here.
type replying interface {
	// Decide makes the Started claim of a token Sending, with its outbox: from
	// here on it will be committed. What is in the outbox must be staged.
	//
	// Lost response: the repeat finds it Sending and reports true. Another ended
	// the claim: false, and nobody sees what was staged. We die right after:
	// whoever comes after the lease sends, and finishes.
	Decide(ctx context.Context, queue, name string, token Token, outbox []Outgoing) (Consumer, bool, error)

	// Finish ends the Sending claim of a token, as Commit does.
	//
	// Lost response, another did it first: the repeat fails and finds the token's
	// outcome, which is Committed: true. We die right after: as after Commit.
	Finish(ctx context.Context, queue, name string, token Token) (Consumer, bool, error)

	// Refuse counts replies of a claim that can never be stored, if they are not
	// those that were counted last.
	//
	// Lost response, another did it first: the repeat finds the claim's name and
	// reports true. We die right after: the claim is still open, and whoever goes
	// on with it comes here again.
	Refuse(ctx context.Context, queue, name string, token Token, refused Refused) (Consumer, bool, error)

	// ToldRefused notes that all that were refused up to the number seen are
	// announced.
	//
	// Lost response, another did it first: the number is that, or higher: true.
	// We die right after: nothing is left to do.
	ToldRefused(ctx context.Context, seen Consumer) (Consumer, bool, error)
}

// Decide implements [Store].
func (s *Memory) Decide(ctx context.Context, queue, name string, token Token, outbox []Outgoing) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, held(token), func(c *Consumer) {
		c.State, c.Outbox = Sending, [MaxReplyQueues]Outgoing{}
		copy(c.Outbox[:], outbox)
	})
	return c, made || c.decided(token), err
}

// Finish implements [Store].
func (s *Memory) Finish(ctx context.Context, queue, name string, token Token) (Consumer, bool, error) {
	c, made, err := s.update(ctx, queue, name, owned(token, Sending), func(c *Consumer) {
		c.end(Committed)
		c.State, c.Delivered, c.Attempts, c.RetryAt = Idle, c.To, 0, time.Time{}
		c.Outbox = [MaxReplyQueues]Outgoing{}
		c.calm()
	})
	return c, made || c.ended(token, Committed), err
}

// Refuse implements [Store].
func (s *Memory) Refuse(ctx context.Context, queue, name string, token Token, refused Refused) (Consumer, bool, error) {
	by := token.String()
	c, made, err := s.update(ctx, queue, name,
		func(c Consumer) bool { return c.Refused.By != by },
		func(c *Consumer) {
			c.Refused.N += refused.N
			c.Refused.By, c.Refused.Why, c.Refused.Since = by, refused.Why, milliseconds(refused.Since)
		})
	return c, made || c.Refused.By == by, err
}

// ToldRefused implements [Store].
func (s *Memory) ToldRefused(ctx context.Context, seen Consumer) (Consumer, bool, error) {
	c, made, err := s.update(ctx, seen.Queue, seen.Name,
		func(c Consumer) bool { return c.Refused.N >= seen.Refused.N && c.Refused.Told < seen.Refused.N },
		func(c *Consumer) { c.Refused.Told = seen.Refused.N })
	return c, made || c.Refused.Told >= seen.Refused.N, err
}
