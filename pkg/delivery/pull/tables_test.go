package pull_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
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
	queues, err := cursor.NewStore(engine, n.queues)
	if err != nil {
		t.Fatal(err)
	}
	return delivery.NewStore(engine, n.consumers.Tables()), queues
}

// freshTables makes new tables on a server and returns the stores on them.
func freshTables(t testing.TB, kind ddbtest.Kind, options dynamo.Options) (*delivery.Store, *cursor.Store) {
	t.Helper()
	options.Endpoint = ddbtest.Endpoint(t, kind)
	client, err := dynamo.New(&options)
	if err != nil {
		t.Fatal(err)
	}
	suffix := ddbtest.Suffix()
	n := tables{
		cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix},
		delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix},
	}
	if err := table.Create(t.Context(), client, n.definitions()...); err != nil {
		t.Fatal(err)
	}
	return n.storesOn(t, dynamo.NewEngine(client))
}
