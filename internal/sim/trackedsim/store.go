package trackedsim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/internal/sim/consumers"
	"github.com/streamsort/streamsort/internal/sim/simdb"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// view is the consumers' table as one process sees it. What is not written out
// is asked by no actor.
type view struct {
	handoff.Store
	*model
	p *sim.Proc
}

// write is a write of the consumer, of which the model checks what it did.
func (v *view) write(label sim.Label, do func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	return consumers.Write(v.p, label, func() (handoff.Consumer, bool, error) {
		c, made, err := do()
		if wrong := v.consumed(); wrong != nil {
			v.run.Violation("%w", wrong)
		}
		return c, made, err
	})
}

func (v *view) Consumer(ctx context.Context, queue, name string) (handoff.Consumer, error) {
	return consumers.Read(v.p, sim.Labelf("get consumer"), func() (handoff.Consumer, error) {
		return v.store.Consumer(ctx, queue, name)
	})
}

func (v *view) Consumers(ctx context.Context, queue, after string) ([]handoff.Consumer, string, error) {
	c, err := v.Consumer(ctx, queue, consumer)
	if err != nil || !c.Exists() {
		return nil, "", err
	}
	return []handoff.Consumer{c}, "", nil
}

func (v *view) CreateConsumer(ctx context.Context, c handoff.Consumer) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("create consumer"), func() (handoff.Consumer, bool, error) {
		found, made, err := v.store.CreateConsumer(ctx, c)
		if made {
			v.made++
		}
		return found, made, err
	})
}

func (v *view) FinishStart(ctx context.Context, queue, name, op string, delivered int64) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("finish start"), func() (handoff.Consumer, bool, error) {
		return v.store.FinishStart(ctx, queue, name, op, delivered)
	})
}

func (v *view) Claim(ctx context.Context, seen handoff.Consumer, claim handoff.Claim) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("claim from %d to %d", seen.Delivered, claim.To), func() (handoff.Consumer, bool, error) {
		return v.store.Claim(ctx, seen, claim)
	})
}

func (v *view) Block(ctx context.Context, seen handoff.Consumer, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("block"), func() (handoff.Consumer, bool, error) { return v.store.Block(ctx, seen, now) })
}

func (v *view) Commit(ctx context.Context, queue, name string, token handoff.Token) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("commit %v", token), func() (handoff.Consumer, bool, error) {
		return v.store.Commit(ctx, queue, name, token)
	})
}

func (v *view) Fail(ctx context.Context, queue, name string, token handoff.Token, failure handoff.Failure) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("fail %v: %s", token, failure.Error), func() (handoff.Consumer, bool, error) {
		return v.store.Fail(ctx, queue, name, token, failure)
	})
}

func (v *view) Cancel(ctx context.Context, seen handoff.Consumer, block bool, now time.Time) (handoff.Consumer, bool, error) {
	return v.write(sim.Labelf("cancel %v", seen.Token), func() (handoff.Consumer, bool, error) {
		return v.store.Cancel(ctx, seen, block, now)
	})
}

func (v *view) Remove(ctx context.Context, seen handoff.Consumer) (bool, error) {
	return sim.Do(v.p, sim.Labelf("remove consumer"), true, func() (bool, error) {
		removed, err := v.store.Remove(ctx, seen)
		v.is = v.standing()
		return removed, err
	})
}

// queueView is the sorter's tables as one process sees them. Messages never
// change here, so that only the cursor is a point.
func (m *model) queueView(p *sim.Proc) ddb.Engine {
	points := simdb.Engine(p, m.queues.Tables, &simdb.Hooks{
		Perform: func(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
			if r.Name() == "nudge" {
				// It makes a record each time: no two come in one millisecond, as
				// they do in a simulation.
				m.records, m.awake = append(m.records, 0), true
			}
			return do()
		},
		Hash: func(d *sim.Digest, r ddb.Request, a ddb.Answer) {
			if r.Name() == "get cursor" {
				a.Item.Get("position").Digest(d)
				a.Item.Get("nudged").Digest(d)
			}
		},
	})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "get cursor" || r.Name() == "nudge" {
			return points.Do(ctx, r)
		}
		return m.queues.Tables.Do(ctx, r)
	})
}
