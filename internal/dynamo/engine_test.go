package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/table"
)

// engines are the engine in memory and one on each server, with the same table.
func engines(t *testing.T) (*table.Definition, map[localdb.Kind]ddb.Engine) {
	t.Helper()
	def := &table.Definition{
		Name: "differ" + localdb.Suffix(), TTL: "ttl",
		Partition: table.Key{Name: "p", Type: table.String}, Sort: table.Key{Name: "s", Type: table.Number},
		Index: table.Index{Name: "due", Partition: table.Key{Name: "n", Type: table.Number}, Sort: table.Key{Name: "t", Type: table.String}},
	}
	all := map[localdb.Kind]ddb.Engine{"memory": ddb.NewMemory(*def)}
	for _, kind := range localdb.Kinds() {
		client, err := dynamo.New(&dynamo.Options{Endpoint: localdb.ForTest(t, kind), MaxAttempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := dynamo.CreateTable(t.Context(), client, *def); err != nil {
			t.Fatal(err)
		}
		engine := dynamo.NewEngine(client)
		engine.Units = true
		all[kind] = engine
	}
	return def, all
}

// known are the differences between a server and DynamoDB's rules that are
// taken as they are, each with what it is.
type known struct {
	kind localdb.Kind
	what string
	// is tells the difference from others.
	is func(r ddb.Request, memory, server answer) bool
}

type answer struct {
	ddb.Answer
	err error
}

// plain is an answer as two are compared: items in an order of their own where
// the request promises none.
func plain(r ddb.Request, a answer) map[string]string {
	texts := make([]string, len(a.Items))
	for i, it := range a.Items {
		texts[i] = it.String()
	}
	switch r.(type) {
	case ddb.Scan, ddb.BatchGet:
		slices.Sort(texts)
	}
	out := map[string]string{
		"item": a.Item.String(), "held": fmt.Sprint(a.Held), "items": strings.Join(texts, "\n"),
		"next": fmt.Sprint(a.Next), "units": fmt.Sprint(a.Units), "error": "",
	}
	switch {
	case a.err == nil:
	case errors.Is(a.err, ddb.ErrInvalid):
		out["error"] = "invalid"
	case errors.Is(a.err, ddb.ErrTooLarge):
		out["error"] = "too large"
	default:
		out["error"] = a.err.Error()
	}
	return out
}

// TestEnginesAgree makes random requests of the engine in memory and of both
// servers: they answer the same, and charge the same.
func TestEnginesAgree(t *testing.T) {
	def, all := engines(t)
	rapid.Check(t, func(rt *rapid.T) {
		for i := range rapid.IntRange(5, 30).Draw(rt, "requests") {
			r := requests(def).Draw(rt, fmt.Sprint("request ", i))
			want := do(t.Context(), all["memory"], r)
			for _, kind := range localdb.Kinds() {
				got := do(t.Context(), all[kind], r)
				if slices.ContainsFunc(differences, func(k known) bool { return k.kind == kind && k.is(r, want, got) }) {
					continue
				}
				if diff := cmp.Diff(plain(r, want), plain(r, got)); diff != "" {
					rt.Fatalf("%s: %T %+v: (-memory +server)\n%s\nmemory: %v\nserver: %v", kind, r, r, diff, want.err, got.err)
				}
			}
		}
	})
}

func do(ctx context.Context, engine ddb.Engine, r ddb.Request) answer {
	a, err := engine.Do(ctx, r)
	return answer{a, err}
}
