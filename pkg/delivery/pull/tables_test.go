package pull_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// tables are those of the queues and of their consumers.
type tables struct {
	queues    cursor.Names
	consumers delivery.Names
}

func (n tables) definitions() []table.Definition {
	return append(append(n.consumers.Tables(), n.queues.Tables()...), n.queues.ArrivalsTable())
}

// storesOn are the stores on the tables of an engine.
func (n tables) storesOn(t testing.TB, engine ddb.Engine) (*delivery.Store, *cursor.Store) {
	t.Helper()
	queues := check.Get(cursor.NewStore(engine, n.queues))
	return delivery.NewStore(engine, n.consumers.Tables()), queues
}

// freshTables makes new tables on a server and returns the stores on them.
func freshTables(t testing.TB, kind ddbtest.Kind, options dynamo.Options) (*delivery.Store, *cursor.Store) {
	t.Helper()
	options.Endpoint = ddbtest.Endpoint(t, kind)
	client := check.Get(dynamo.New(&options))
	suffix := ddbtest.Suffix()
	n := tables{
		cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix},
		delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix},
	}
	check.OK(t, table.Create(t.Context(), client, n.definitions()...))
	return n.storesOn(t, dynamo.NewEngine(client))
}
