package repliessim

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// queueView is the queues' tables as one process sees them. What is asked of the queue that is
// answered is no point, and a read is one only where it may be stale.
func (m *model) queueView(p *sim.Proc) ddb.Engine {
	hooks := &simdb.Hooks{Older: m.Past.Older, Hash: m.HashAnswer}
	points, others := simdb.Engine(p, m.Memory, hooks), simdb.AtOnce(p, m.Memory, hooks)
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		switch r.Name() {
		case "put arrival", "allocation", "move", "put message":
			return points.Do(ctx, r)
		}
		if m.Past != nil && !ddb.Writes(r) && !past.IsStrong(r) {
			return points.Do(ctx, r)
		}
		return others.Do(ctx, r)
	})
}
