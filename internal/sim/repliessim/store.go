package repliessim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// view is the consumers' table as one process sees it. What is not written out
// here is asked by no actor, and is no point.
type view struct {
	*handoff.Memory
	m *model
	p *sim.Proc
}

var _ handoff.Store = (*view)(nil)

type consumerAnswer struct {
	handoff.Consumer
	made bool
}

// Hash implements [sim.Hasher].
func (a consumerAnswer) Hash(d *sim.Digest) {
	hashConsumer(d, a.Consumer)
	d.Bool(a.made)
}

// String is what a trace shows.
func (a consumerAnswer) String() string {
	return fmt.Sprintf("%s %v %d-%d delivered %d outcomes %v made %v", a.State, a.Token, a.From, a.To, a.Delivered, a.Outcomes, a.made)
}

// hashConsumer feeds what can differ in a consumer within a scenario.
func hashConsumer(d *sim.Digest, c handoff.Consumer) {
	d.Int(c.Delivered)
	d.Text(string(c.State))
	d.Int(c.Token.N)
	d.Text(c.Token.Req)
	d.Int(c.From)
	d.Int(c.To)
	d.Int(c.LeaseUntil.Unix())
	d.Int(int64(c.Attempts))
	d.Int(c.SingleTo)
	d.Int(c.RetryAt.Unix())
	for _, r := range c.Outcomes {
		d.Int(r.N)
		d.Text(string(r.Outcome))
	}
	for _, q := range c.Quarantine {
		d.Int(q.Token.N)
		d.Text(string(q.State))
	}
	for _, o := range c.Outbox {
		d.Text(o.Queue)
	}
	d.Int(c.Refused.N)
	d.Int(c.Refused.Told)
	d.Text(c.Refused.By)
}

func (v *view) write(label sim.Label, do func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	answer, err := sim.Do(v.p, label, true, func() (consumerAnswer, error) {
		c, made, err := do()
		return consumerAnswer{c, made}, err
	})
	if v.p == nil { // no step, after which the run would check
		if wrong := v.m.Check(); wrong != nil {
			v.m.run.Violation("%w", wrong)
		}
	}
	return answer.Consumer, answer.made, err
}

func (v *view) Consumer(ctx context.Context, queue, name string) (handoff.Consumer, error) {
	answer, err := sim.Do(v.p, sim.Labelf("get the consumer"), false, func() (consumerAnswer, error) {
		c, err := v.Memory.Consumer(ctx, queue, name)
		return consumerAnswer{c, true}, err
	})
	return answer.Consumer, err
}

func (v *view) Claim(ctx context.Context, seen handoff.Consumer, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("claim up to %d as %d-%s", claim.To, seen.Token.N+1, claim.Req), func() (handoff.Consumer, bool, error) {
		return v.Memory.Claim(ctx, seen, claim)
	})
}

func (v *view) Block(ctx context.Context, seen handoff.Consumer, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("block"), func() (handoff.Consumer, bool, error) { return v.Memory.Block(ctx, seen, now) })
}

func (v *view) Commit(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v", token), func() (handoff.Consumer, bool, error) { return v.Memory.Commit(ctx, queue, name, token) })
}

func (v *view) CommitAndClaim(ctx context.Context, queue, name string, token handoff.Token, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v and claim", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.CommitAndClaim(ctx, queue, name, token, claim)
	})
}

func (v *view) Fail(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("fail %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Fail(ctx, queue, name, token, failure)
	})
}

func (v *view) Cancel(ctx context.Context, seen handoff.Consumer, block bool, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("cancel %v", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Cancel(ctx, seen, block, now)
	})
}

func (v *view) Prepare(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("prepare %v", token), func() (handoff.Consumer, bool, error) { return v.Memory.Prepare(ctx, queue, name, token) })
}

func (v *view) CommitPrepared(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.CommitPrepared(ctx, queue, name, token)
	})
}

func (v *view) CommitPreparedAndClaim(ctx context.Context, queue, name string, token handoff.Token, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v, and claim up to %d as %s", token, claim.To, claim.Req), func() (handoff.Consumer, bool, error) {
		return v.Memory.CommitPreparedAndClaim(ctx, queue, name, token, claim)
	})
}

func (v *view) AbortPrepared(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("abort %v, by its marker", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.AbortPrepared(ctx, queue, name, token, failure)
	})
}

func (v *view) MarkUnknown(ctx context.Context, seen handoff.Consumer, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("mark %v in doubt", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.Memory.MarkUnknown(ctx, seen, now)
	})
}

func (v *view) Quarantine(ctx context.Context, seen handoff.Consumer, old time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("quarantine %v", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Quarantine(ctx, seen, old)
	})
}

func (v *view) SettleQuarantined(ctx context.Context, queue, name string, token handoff.Token, outcome handoff.TokenOutcome, remember bool, op string) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("settle quarantined %v as %s", token, outcome), func() (handoff.Consumer, bool, error) {
		return v.Memory.SettleQuarantined(ctx, queue, name, token, outcome, remember, op)
	})
}

func (v *view) Decide(ctx context.Context, queue, name string, token handoff.Token, outbox []handoff.Outgoing) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("decide %v, %v", token, outbox), func() (handoff.Consumer, bool, error) {
		return v.Memory.Decide(ctx, queue, name, token, outbox)
	})
}

func (v *view) Finish(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("finish %v", token), func() (handoff.Consumer, bool, error) { return v.Memory.Finish(ctx, queue, name, token) })
}

func (v *view) Refuse(ctx context.Context, queue, name string, token handoff.Token, refused handoff.Refused) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("refuse %d replies of %v", refused.N, token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Refuse(ctx, queue, name, token, refused)
	})
}

func (v *view) ToldRefused(ctx context.Context, seen handoff.Consumer) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("all %d refused are announced", seen.Refused.N), func() (handoff.Consumer, bool, error) {
		return v.Memory.ToldRefused(ctx, seen)
	})
}

// queueView is the queues' tables as one process sees them. What is asked of the
// queue that is answered is no point.
type queueView struct {
	*cursor.Memory
	m *model
	p *sim.Proc
}

type arrivalAnswer struct{ cursor.Arrival }

// Hash implements [sim.Hasher].
func (a arrivalAnswer) Hash(d *sim.Digest) {
	d.Text(a.ID)
	d.Text(string(a.Op))
	d.Int(a.Seen)
	d.Int(a.ExpiresOn.Unix())
}

// String is what a trace shows.
func (a arrivalAnswer) String() string { return fmt.Sprintf("%s, seen %d", a.ID, a.Seen) }

func (v *queueView) PutArrival(ctx context.Context, a cursor.Arrival) (cursor.Arrival, error) {
	answer, err := sim.Do(v.p, sim.Labelf("put %d replies to %s", len(a.Messages), a.Queue), true, func() (arrivalAnswer, error) {
		there, err := v.Memory.PutArrival(ctx, a)
		v.m.rows[a.Queue+"/"+a.ID] = there.ExpiresOn
		return arrivalAnswer{there}, err
	})
	return answer.Arrival, err
}

type cursorAnswer struct {
	cursor.Cursor
	done bool
}

// Hash implements [sim.Hasher].
func (a cursorAnswer) Hash(d *sim.Digest) {
	d.Int(a.Position)
	d.Int(a.Parked)
	d.Text(string(a.Tail))
	d.Bool(a.done)
}

// String is what a trace shows.
func (a cursorAnswer) String() string {
	return fmt.Sprintf("%s at %d, done %v", a.Queue, a.Position, a.done)
}

func (v *queueView) change(label sim.Label, do func() (cursor.Cursor, bool, error)) (cursor.Cursor, bool, error) {
	answer, err := sim.Do(v.p, label, true, func() (cursorAnswer, error) {
		c, done, err := do()
		return cursorAnswer{c, done}, err
	})
	return answer.Cursor, answer.done, err
}

func (v *queueView) Ticket(ctx context.Context, queue string, entries cursor.Tail, seen int64, now time.Time) (cursor.Cursor, bool, error) {
	return v.change(sim.Labelf("ticket in %s", queue), func() (cursor.Cursor, bool, error) {
		return v.Memory.Ticket(ctx, queue, entries, seen, now)
	})
}

func (v *queueView) Move(ctx context.Context, queue string, from, to int64, now time.Time) (cursor.Cursor, bool, error) {
	return v.change(sim.Labelf("move %s to %d", queue, to), func() (cursor.Cursor, bool, error) {
		return v.Memory.Move(ctx, queue, from, to, now)
	})
}

func (v *queueView) Cursor(ctx context.Context, queue string, strong bool) (cursor.Cursor, error) {
	c, err := v.Memory.Cursor(ctx, queue, strong)
	cursorAnswer{c, strong}.Hash(v.p.Knows()) // by no request
	return c, err
}

type messageAnswer struct{ cursor.Message }

// Hash implements [sim.Hasher].
func (a messageAnswer) Hash(d *sim.Digest) {
	d.Text(string(a.Body))
	d.Text(string(a.Op))
}

// String is what a trace shows.
func (a messageAnswer) String() string { return string(a.Body) }

func (v *queueView) PutMessage(ctx context.Context, message cursor.Message) (cursor.Message, error) {
	answer, err := sim.Do(v.p, sim.Labelf("put %d to %s", message.Seq, message.Queue), true, func() (messageAnswer, error) {
		there, err := v.Memory.PutMessage(ctx, message)
		v.m.rows[fmt.Sprint(message.Queue, "/", message.Seq)] = there.ExpiresOn
		return messageAnswer{there}, err
	})
	return answer.Message, err
}

func (v *queueView) Message(ctx context.Context, queue string, seq int64) (cursor.Message, bool, error) {
	there, found, err := v.Memory.Message(ctx, queue, seq)
	messageAnswer{there}.Hash(v.p.Knows()) // by no request
	return there, found, err
}

func (v *queueView) Arrivals(ctx context.Context, query cursor.ArrivalQuery) ([]cursor.Arrival, []cursor.Hash, error) {
	found, left, err := v.Memory.Arrivals(ctx, query)
	for _, a := range found {
		arrivalAnswer{a}.Hash(v.p.Knows()) // by no request
	}
	v.p.Knows().Int(int64(len(found)))
	return found, left, err
}
