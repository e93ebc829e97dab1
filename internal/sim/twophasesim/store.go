package twophasesim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// view is the consumers' table as one process sees it.
type view struct {
	*handoff.Memory // what the protocol does not ask for is no point
	m               *model
	p               *sim.Proc
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

func (v *view) write(label sim.Label, request func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	answer, err := sim.Do(v.p, label, true, func() (consumerAnswer, error) {
		c, made, err := request()
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

func (v *view) Fail(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("abort %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Fail(ctx, queue, name, token, failure)
	})
}

func (v *view) Cancel(ctx context.Context, seen handoff.Consumer, block bool, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("cancel %v", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Cancel(ctx, seen, block, now)
	})
}

func (v *view) Prepare(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("prepare %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.Prepare(ctx, queue, name, token)
	})
}

func (v *view) CommitPrepared(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v", token), func() (handoff.Consumer, bool, error) {
		return v.Memory.CommitPrepared(ctx, queue, name, token)
	})
}

func (v *view) CommitPreparedAndClaim(ctx context.Context, queue, name string, token handoff.Token, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v, and claim up to %d as %d-%s", token, claim.To, token.N+1, claim.Req), func() (handoff.Consumer, bool, error) {
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

// queues are the queues' tables as one process sees them: messages are there
// before the run, so that nothing in them is a point.
type queues struct {
	*cursor.Memory
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
}
