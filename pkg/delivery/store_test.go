package delivery_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// faultyTables are all tables of this package and those around it, in memory; a
// request can go wrong.
func faultyTables() *ddbtest.Faults {
	var queues cursor.Names
	all := append(delivery.Names{}.Tables(), xorack.Names{}.Tables()...)
	all = append(append(all, queues.Tables()...), queues.ArrivalsTable())
	return ddbtest.NewFaults(ddb.NewMemory(all...))
}

// storesOn are the stores on the tables of an engine.
func storesOn(t testing.TB, engine ddb.Engine) (*delivery.Store, *cursor.Store) {
	t.Helper()
	queues := check.Get(cursor.NewStore(engine, cursor.Names{}))
	return delivery.NewStore(engine, delivery.Names{}.Tables()), queues
}

// freshTables makes new tables on a server and returns the stores on them.
func freshTables(t testing.TB, kind ddbtest.Kind, options *dynamo.Options) (*delivery.Store, *cursor.Store) {
	t.Helper()
	if options == nil {
		options = &dynamo.Options{}
	}
	options.Endpoint = ddbtest.Endpoint(t, kind)
	client := check.Get(dynamo.New(options))
	suffix := ddbtest.Suffix()
	names := delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix}
	queues := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix}
	check.OK(t, table.Create(t.Context(), client, append(append(names.Tables(), queues.Tables()...), queues.ArrivalsTable())...))
	store := check.Get(cursor.NewDynamo(client, queues))
	return delivery.NewDynamo(client, names), store
}
