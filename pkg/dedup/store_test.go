package dedup_test

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

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

// TestKeyNamedAsAnAttribute: a table whose key has the name of an attribute can
// be used if the attribute gets another one.
func TestKeyNamedAsAnAttribute(t *testing.T) {
	for _, name := range []string{"token", "v", "expiresOn"} {
		store, _ := freshTable(t, localdb.Kinds()[0], nil, dedup.Names{IDKey: name, Attributes: map[string]string{name: "other"}})
		d := process(t, store, nil)
		for i := range 2 {
			out, err := d.Once(t.Context(), "a", func(context.Context) (string, error) { return incompressible(5000), nil })
			if err != nil || len(out.Value) != 5000 || out.Replayed != (i == 1) {
				t.Errorf("%s: %d bytes, replayed %v, %v", name, len(out.Value), out.Replayed, err)
			}
		}
		for e, err := range d.List(t.Context()) {
			if err != nil || e.Row.ID != "a" {
				t.Errorf("%s: listed %+v, %v", name, e, err)
			}
		}
	}
}

// TestListOfATableWithOneKey: a broken row of another processor is not this
// one's to tell of; one that is nobody's is everybody's.
func TestListOfATableWithOneKey(t *testing.T) {
	client, err := dynamo.New(&dynamo.Options{Endpoint: localdb.ForTest(t, localdb.Kinds()[0])})
	if err != nil {
		t.Fatal(err)
	}
	store, names := freshTable(t, localdb.Kinds()[0], nil, dedup.Names{OneKey: true})
	for _, key := range []string{"7:another:x", "8:payments:x", "nobody's"} {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &names.Table, Item: dynamo.Item{"id": dynamo.Text(key)}}); err != nil {
			t.Fatal(err)
		}
	}
	var fields []string
	for _, err := range process(t, store, nil).List(t.Context()) {
		fields = append(fields, as[*dedup.RowError](t, err).Field)
	}
	slices.Sort(fields)
	if diff := cmp.Diff([]string{"id", "v"}, fields); diff != "" {
		t.Errorf("broken rows (-want +got):\n%s", diff)
	}
}
