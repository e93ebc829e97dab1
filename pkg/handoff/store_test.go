package handoff_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/handofftest"
)

// freshTables makes new tables on a server and returns the Stores on them.
func freshTables(t testing.TB, kind localdb.Kind, options *dynamo.Options) (handoff.Store, *cursor.Store) {
	t.Helper()
	if options == nil {
		options = &dynamo.Options{}
	}
	options.Endpoint = localdb.ForTest(t, kind)
	client, err := dynamo.New(options)
	if err != nil {
		t.Fatal(err)
	}
	suffix := localdb.Suffix()
	names := handoff.Names{Consumers: "consumers" + suffix, Acts: "acts" + suffix}
	queues := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix}
	for _, definition := range append(append(names.Tables(), queues.Tables()...), queues.ArrivalsTable()) {
		if err := dynamo.CreateTable(t.Context(), client, definition); err != nil {
			t.Fatal(err)
		}
	}
	store, err := cursor.NewDynamo(client, queues)
	if err != nil {
		t.Fatal(err)
	}
	return handoff.NewDynamo(client, names), store
}

func TestMemoryConforms(t *testing.T) {
	handofftest.Run(t, func(*testing.T) handoff.Store { return &handoff.Memory{} })
}
