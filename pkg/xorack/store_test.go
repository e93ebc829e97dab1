package xorack_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/xoracktest"
)

// freshTable makes a new table on a server and returns the Store on it.
func freshTable(t testing.TB, kind localdb.Kind) xorack.Store {
	t.Helper()
	store, _ := freshTables(t, kind, &dynamo.Options{})
	return store
}

// freshTables makes a new table on a server and returns two Stores on it: one
// with the options, and one without.
func freshTables(t testing.TB, kind localdb.Kind, options *dynamo.Options) (store, plain xorack.Store) {
	t.Helper()
	names := xorack.Names{Chains: "chains" + localdb.Suffix(), TagKey: "tagID"}
	options.Endpoint = localdb.ForTest(t, kind)
	stores := make([]xorack.Store, 2)
	for i, options := range []*dynamo.Options{options, {Endpoint: options.Endpoint}} {
		client, err := dynamo.New(options)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			for _, definition := range names.Tables() {
				// Nobody reads the stream here, and dynoxide's writes get slower
				// with each record in one.
				definition.Stream = ""
				if err := dynamo.CreateTable(t.Context(), client, definition); err != nil {
					t.Fatal(err)
				}
			}
		}
		if stores[i], err = xorack.NewDynamo(client, names); err != nil {
			t.Fatal(err)
		}
	}
	return stores[0], stores[1]
}

func TestMemoryConforms(t *testing.T) {
	xoracktest.Run(t, func(*testing.T) xorack.Store { return &xorack.Memory{} })
}

func TestDynamoConforms(t *testing.T) {
	for _, kind := range localdb.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			xoracktest.Run(t, func(t *testing.T) xorack.Store { return freshTable(t, kind) })
		})
	}
}
