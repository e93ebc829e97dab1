package trackedsim

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// view is the consumers' table as one process sees it. What is not named here is
// asked by no actor.
func (m *model) view(p *sim.Proc) *handoff.Store {
	points := simdb.Engine(p, m.tables, &simdb.Hooks{Perform: m.perform, Older: m.tables.Past.Older, Hash: m.tables.HashAnswer})
	return consumers.On(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		switch r.Name() {
		case "consumer", "consumers", "create consumer", "finish start", "claim", "block", "commit", "fail", "cancel", "remove":
			return points.Do(ctx, r)
		case "health", "learn":
			return m.tables.Health(ctx, p, r)
		}
		return m.tables.Do(ctx, r)
	}))
}

// perform has a request done, and checks what a write did.
func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	a, err := do()
	if put, ok := r.(ddb.Put); ok && (a.Held || a.Item.Get("lastOp").Equal(put.Item.Get("lastOp"))) {
		m.made++
	}
	switch {
	case r.Name() == "remove":
		m.is = m.standing()
	case r.Writes():
		if wrong := m.consumed(); wrong != nil {
			m.run.Violation("%w", wrong)
		}
	}
	return a, err
}

// queueView is the sorter's tables as one process sees them. Messages never
// change here, so that only the cursor is a point.
func (m *model) queueView(p *sim.Proc) ddb.Engine {
	points := simdb.Engine(p, m.tables, &simdb.Hooks{
		Perform: func(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
			if r.Name() == "notify" {
				// It makes a record each time: no two come in one millisecond, as
				// they do in a simulation.
				m.records, m.awake = append(m.records, 0), true
			}
			return do()
		},
		Older: m.tables.Past.Older,
		Hash: func(d *sim.Digest, r ddb.Request, a ddb.Answer) {
			if r.Name() == "get cursor" {
				a.Item.Get("position").Digest(d)
				a.Item.Get("notify").Digest(d)
			}
		},
	})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "get cursor" || r.Name() == "notify" {
			return points.Do(ctx, r)
		}
		return m.tables.Do(ctx, r)
	})
}
