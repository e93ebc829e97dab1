// Package ddbtest is what tests of stores share: every engine there is
// ([Each]), requests that go wrong ([Faults]), and what requests cost
// ([Meter]).
package ddbtest

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/clause"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Memory is the name of the engine in memory, beside the servers' kinds.
const Memory localdb.Kind = "memory"

// Each runs a test on the engine in memory, and on each server.
func Each(t *testing.T, test func(t *testing.T, kind localdb.Kind)) {
	t.Helper()
	for _, kind := range append([]localdb.Kind{Memory}, localdb.Kinds()...) {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

// Open makes tables on an engine of a kind. Their names must be new on the
// server: see [localdb.Suffix].
func Open(t testing.TB, kind localdb.Kind, definitions ...table.Definition) ddb.Engine {
	t.Helper()
	if kind == Memory {
		return clause.Layer(ddb.NewMemory(definitions...))
	}
	client, err := dynamo.New(&dynamo.Options{Endpoint: localdb.ForTest(t, kind)})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Create(t.Context(), client, definitions...); err != nil {
		t.Fatal(err)
	}
	return clause.Layer(dynamo.NewEngine(client))
}
