package handoffsim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/internal/sim/consumers"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// view is the consumers' tables as one process sees them. What is not written
// out here is asked by no actor, or decides nothing, and is no point.
type view struct {
	handoff.Store
	*model
	p *sim.Proc
}

var _ handoff.Store = (*view)(nil)

// write is a request that changes something.
func write[T any](m *model, p *sim.Proc, label sim.Label, request func() (T, error)) (T, error) {
	answer, err := sim.Do(p, label, true, func() (T, error) {
		m.changed = true
		return request()
	})
	if p == nil { // no step, after which the run would check
		if wrong := m.Check(); wrong != nil {
			m.run.Violation("%w", wrong)
		}
	}
	return answer, err
}

// standing is the consumer as it stands.
func (m *model) standing(queue, name string) handoff.Consumer {
	c, _ := m.store.Consumer(context.Background(), queue, name)
	return c
}

// write is a write of a consumer.
func (v *view) write(label sim.Label, request func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	answer, err := write(v.model, v.p, label, func() (consumers.Answer, error) {
		c, made, err := request()
		return consumers.Answer{Consumer: c, Made: made}, err
	})
	return answer.Consumer, answer.Made, err
}

// ending is a write that ends a claim of which this is the token.
func (v *view) ending(label sim.Label, queue, name string, token handoff.Token, request func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	return v.write(label, func() (handoff.Consumer, bool, error) {
		before := v.standing(queue, name)
		c, made, err := request()
		if v.standing(queue, name) != before && (before.Token != token || before.State != handoff.Started) {
			v.run.Violation("H2: the claim of token %v was ended, or made anew, by %s with token %v", before.Token, v.p.Name(), token)
		}
		return c, made, err
	})
}

// takeover is a write that may end another's claim, whose lease must be over.
func (v *view) takeover(label sim.Label, seen handoff.Consumer, now time.Time, request func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	return v.write(label, func() (handoff.Consumer, bool, error) {
		before := v.standing(seen.Queue, seen.Name)
		c, made, err := request()
		if v.standing(seen.Queue, seen.Name) != before && before.State == handoff.Started && !before.LeaseUntil.Before(now) {
			v.run.Violation("H2: the claim of token %v was taken over by %s before its lease was over", before.Token, v.p.Name())
		}
		return c, made, err
	})
}

func (v *view) CreateConsumer(ctx context.Context, c handoff.Consumer) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("create %s of %s at %d", c.Name, c.Queue, c.Delivered), func() (handoff.Consumer, bool, error) {
		return v.store.CreateConsumer(ctx, c)
	})
}

func (v *view) Consumer(ctx context.Context, queue, name string) (handoff.Consumer, error) {
	return consumers.Read(v.p, sim.Labelf("get %s of %s", name, queue), func() (handoff.Consumer, error) {
		return v.store.Consumer(ctx, queue, name)
	})
}

func (v *view) Consumers(ctx context.Context, queue, after string) ([]handoff.Consumer, string, error) {
	answer, err := sim.Read(v.p, sim.Labelf("list consumers of %s", queue), func() (consumersAnswer, error) {
		page, _, err := v.store.Consumers(ctx, queue, after)
		return page, err
	})
	return answer, "", err
}

func (v *view) Claim(ctx context.Context, seen handoff.Consumer, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.takeover(sim.Labelf("claim %s from %d to %d", seen.Queue, seen.Delivered, claim.To), seen, claim.Now, func() (handoff.Consumer, bool, error) {
		return v.store.Claim(ctx, seen, claim)
	})
}

func (v *view) Block(ctx context.Context, seen handoff.Consumer, now time.Time) (handoff.Consumer, bool, error) {
	return v.takeover(sim.Labelf("block %s", seen.Queue), seen, now, func() (handoff.Consumer, bool, error) {
		return v.store.Block(ctx, seen, now)
	})
}

func (v *view) Commit(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.ending(sim.Labelf("commit %v", token), queue, name, token, func() (handoff.Consumer, bool, error) {
		return v.store.Commit(ctx, queue, name, token)
	})
}

func (v *view) CommitAndClaim(ctx context.Context, queue, name string, token handoff.Token, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.ending(sim.Labelf("commit %v and claim up to %d", token, claim.To), queue, name, token, func() (handoff.Consumer, bool, error) {
		return v.store.CommitAndClaim(ctx, queue, name, token, claim)
	})
}

func (v *view) Fail(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.ending(sim.Labelf("fail %v", token), queue, name, token, func() (handoff.Consumer, bool, error) {
		return v.store.Fail(ctx, queue, name, token, failure)
	})
}

func (v *view) Cancel(ctx context.Context, seen handoff.Consumer, block bool, now time.Time) (handoff.Consumer, bool, error) {
	return v.takeover(sim.Labelf("cancel %v", seen.Token), seen, now, func() (handoff.Consumer, bool, error) {
		return v.store.Cancel(ctx, seen, block, now)
	})
}

func (v *view) Unblock(ctx context.Context, seen handoff.Consumer, skip bool, op string) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("unblock %s at %d, skip %v", seen.Queue, seen.Delivered+1, skip), func() (handoff.Consumer, bool, error) {
		return v.store.Unblock(ctx, seen, skip, op)
	})
}

func (v *view) Rewind(ctx context.Context, seen handoff.Consumer, delivered int64, op string) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("rewind %s to %d", seen.Queue, delivered), func() (handoff.Consumer, bool, error) {
		return v.store.Rewind(ctx, seen, delivered, op)
	})
}

func (v *view) FinishStart(ctx context.Context, queue, name, op string, delivered int64) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("finish start %s of %s at %d", op, name, delivered), func() (handoff.Consumer, bool, error) {
		return v.store.FinishStart(ctx, queue, name, op, delivered)
	})
}

func (v *view) Pause(ctx context.Context, queue, name, reason string, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("pause %s: %q", queue, reason), func() (handoff.Consumer, bool, error) {
		return v.store.Pause(ctx, queue, name, reason, now)
	})
}

func (v *view) Remove(ctx context.Context, seen handoff.Consumer) (bool, error) {
	return write(v.model, v.p, sim.Labelf("remove %s", seen.Name), func() (bool, error) {
		return v.store.Remove(ctx, seen)
	})
}
