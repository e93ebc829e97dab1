package consumers

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// View is the consumers' table as one process sees it, that claims by turns or
// in two phases, with replies or without. What no such process asks is no point.
// wrote is called after a write of nobody's, where no step of the run ends that
// would be checked.
func (t *Tables) View(p *sim.Proc, wrote func()) *delivery.Store {
	points := simdb.Engine(p, t.Memory, &simdb.Hooks{Older: t.Past.Older, Hash: t.HashAnswer})
	return On(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		switch r.Name() {
		case "create consumer", "consumers", "finish start", "unblock", "rewind", "pause", "remove", "record operation", "operations":
			return t.Do(ctx, r)
		case "health", "learn":
			return t.Health(ctx, p, r)
		}
		a, err := points.Do(ctx, r)
		if p == nil && r.Writes() {
			wrote()
		}
		return a, err
	}))
}
