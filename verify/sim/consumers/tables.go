package consumers

import (
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// Tables are the tables of a run, as they stand: requests to them are no points.
type Tables struct {
	*ddb.Memory
	Queues    *cursor.Store
	Consumers *delivery.Store

	// Past is what reads that are not strong may show still; nil where each shows what stands
	// there: see [Tables.Stale].
	Past *past.Past
}

// NewTables returns empty tables of queues and of consumers, and more.
func NewTables(more ...table.Definition) *Tables {
	var queues cursor.Names
	definitions := append(append(queues.Tables(), queues.ArrivalsTable()),
		delivery.Names{}.Tables()...)
	t := &Tables{Memory: ddb.NewMemory(append(definitions, more...)...).Remember()}
	t.Queues, t.Consumers = simdb.Queues(t), On(t)
	return t
}

// World is that of a run on these tables.
func (t *Tables) World(run *sim.Run) *world.World {
	w := world.On(run, t.Memory)
	w.Unseen = unseen
	return w
}

// unseen are attributes of consumers and queues that nobody acts on: why something failed, and
// since when, is only shown.
var unseen = strings.Fields("change error shown replyQueue last blockedSince pausedSince answer " +
	"refusedQueue refusedWhy refusedSince enqueuedAt peaks")

// Stale has reads that are not strong show what stood there before, from now on.
func (t *Tables) Stale() {
	t.Past = past.Of(t.Memory)
	t.OnChange(t.Past.Note)
}

// On are the consumers as somebody sees them.
func On(engine ddb.Engine) *delivery.Store {
	return delivery.NewStore(engine, delivery.Names{}.Tables())
}
