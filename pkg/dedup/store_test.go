package dedup_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduptest"
)

// freshTable makes a new table on a server and returns the Store on it.
func freshTable(t testing.TB, kind localdb.Kind, options *dynamo.Options, names dedup.Names) (*dedup.Dynamo, dedup.Names) {
	t.Helper()
	if options == nil {
		options = &dynamo.Options{}
	}
	options.Endpoint = localdb.ForTest(t, kind)
	client, err := dynamo.New(options)
	if err != nil {
		t.Fatal(err)
	}
	names.Table = "processes" + localdb.Suffix()
	for _, definition := range names.Tables() {
		if err := dynamo.CreateTable(t.Context(), client, definition); err != nil {
			t.Fatal(err)
		}
	}
	store, err := dedup.NewDynamo(client, names)
	if err != nil {
		t.Fatal(err)
	}
	return store, names
}

func TestMemoryConforms(t *testing.T) {
	deduptest.Run(t, func(*testing.T) dedup.Store { return &dedup.Memory{} })
}

func TestDynamoConforms(t *testing.T) {
	for _, kind := range localdb.Kinds() {
		for name, names := range map[string]dedup.Names{
			"two keys": {},
			"one key":  {OneKey: true},
			"other names": {IDKey: "signal", ProcessorKey: "kind", Attributes: map[string]string{
				"token": "status", "expiresOn": "expiration", "result": "data", "v": "layout",
			}},
		} {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				deduptest.Run(t, func(t *testing.T) dedup.Store {
					store, _ := freshTable(t, kind, nil, names)
					return store
				})
			})
		}
	}
}
