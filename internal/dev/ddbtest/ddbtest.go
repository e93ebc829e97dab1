// Package ddbtest is what tests of stores share: every engine there is ([Each]), requests that go
// wrong ([Faults]), and what requests cost ([Meter]).
//
// Tests run on the engine in memory. STREAMSORT_SERVERS names the servers that they run on too:
// kinds of [localdb], or "any" for the one of local work. Tests that are built with the tag whole
// run on all of them without it.
package ddbtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/clause"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Kind is the engine in memory, or a kind of server.
type Kind = localdb.Kind

// The kinds that tests name.
const (
	Memory        Kind = "memory"
	Dynoxide           = localdb.Dynoxide
	DynamoDBLocal      = localdb.DynamoDBLocal
	Given              = localdb.Given
)

const serversVariable = "STREAMSORT_SERVERS"

// Servers returns the kinds of server that tests run on. An unknown one fails the test.
func Servers(t testing.TB) []Kind {
	t.Helper()
	kinds := check.Get(servers(os.Getenv(serversVariable), whole.Tests))
	return kinds
}

func servers(names string, all bool) ([]Kind, error) {
	known := []Kind{Dynoxide, DynamoDBLocal}
	if localdb.Choose() == Given {
		known = []Kind{Given}
	}
	if names == "" && all {
		return known, nil
	}
	var kinds []Kind
	for name := range strings.SplitSeq(names, ",") {
		switch kind := Kind(name); {
		case names == "":
		case name == "any":
			kinds = append(kinds, localdb.Choose())
		case slices.Contains(known, kind):
			kinds = append(kinds, kind)
		default:
			return nil, fmt.Errorf("%s names %q: it takes any, and %v, with commas between them",
				serversVariable, name, known)
		}
	}
	return kinds, nil
}

// Each runs a test on the engine in memory, and on each server.
func Each(t *testing.T, test func(t *testing.T, kind Kind)) {
	t.Helper()
	on(t, append([]Kind{Memory}, Servers(t)...), test)
}

// EachServer runs a test on each server: on none where none is asked for.
func EachServer(t *testing.T, test func(t *testing.T, kind Kind)) {
	t.Helper()
	on(t, Servers(t), test)
}

func on(t *testing.T, kinds []Kind, test func(t *testing.T, kind Kind)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

// Endpoint returns the address of this test binary's server of a kind.
func Endpoint(t testing.TB, kind Kind) string {
	t.Helper()
	return localdb.ForTest(t, kind)
}

// Suffix makes a table's name one that no other test has.
func Suffix() string { return localdb.Suffix() }

// Open makes tables on an engine of a kind. Their names must be new on the server: see [Suffix].
func Open(t testing.TB, kind Kind, definitions ...table.Definition) ddb.Engine {
	t.Helper()
	if kind == Memory {
		return clause.Layer(ddb.NewMemory(definitions...))
	}
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: Endpoint(t, kind)}))
	check.OK(t, table.Create(t.Context(), client, definitions...))
	return clause.Layer(dynamo.NewEngine(client))
}
