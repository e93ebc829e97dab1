package cursor_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/cursor/cursortest"
)

// freshTables makes new tables on a server and returns the Store on them.
func freshTables(t testing.TB, kind localdb.Kind, options *dynamo.Options) (cursor.Store, cursor.Names) {
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
	names := cursor.Names{
		Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix,
		QueueKey: "author", SeqKey: "number",
	}
	for _, definition := range append(names.Tables(), names.ArrivalsTable()) {
		if err := dynamo.CreateTable(t.Context(), client, definition); err != nil {
			t.Fatal(err)
		}
	}
	store, err := cursor.NewDynamo(client, names)
	if err != nil {
		t.Fatal(err)
	}
	return store, names
}

func TestMemoryConforms(t *testing.T) {
	cursortest.Run(t, func(*testing.T) cursor.Store { return &cursor.Memory{} })
}

func TestDynamoConforms(t *testing.T) {
	for _, kind := range localdb.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			cursortest.Run(t, func(t *testing.T) cursor.Store {
				store, _ := freshTables(t, kind, nil)
				return store
			})
		})
	}
}
