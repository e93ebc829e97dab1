package xorack_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/xoracktest"
)

// freshTable makes a new table on a server and returns the Store on it.
func freshTable(t testing.TB, kind localdb.Kind, options *dynamo.Options) xorack.Store {
	t.Helper()
	if options == nil {
		options = &dynamo.Options{}
	}
	options.Endpoint = localdb.ForTest(t, kind)
	client, err := dynamo.New(options)
	if err != nil {
		t.Fatal(err)
	}
	names := xorack.Names{Chains: "chains" + localdb.Suffix(), TagKey: "tagID"}
	for _, definition := range names.Tables() {
		if err := dynamo.CreateTable(t.Context(), client, definition); err != nil {
			t.Fatal(err)
		}
	}
	store, err := xorack.NewDynamo(client, names)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestMemoryConforms(t *testing.T) {
	xoracktest.Run(t, func(*testing.T) xorack.Store { return &xorack.Memory{} })
}

func TestDynamoConforms(t *testing.T) {
	for _, kind := range localdb.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			xoracktest.Run(t, func(t *testing.T) xorack.Store { return freshTable(t, kind, nil) })
		})
	}
}
