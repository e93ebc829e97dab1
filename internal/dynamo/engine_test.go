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
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// engines are the engine in memory and one on each server, with the same table.
func engines(t *testing.T) (*table.Definition, map[ddbtest.Kind]ddb.Engine) {
	t.Helper()
	def := &table.Definition{
		Name: "differ" + ddbtest.Suffix(), TTL: "ttl",
		Partition: table.Key{Name: "p", Type: table.String},
		Sort:      table.Key{Name: "s", Type: table.Number},
		Index: table.Index{Name: "due", Partition: table.Key{Name: "n", Type: table.Number},
			Sort: table.Key{Name: "t", Type: table.String}},
	}
	all := map[ddbtest.Kind]ddb.Engine{"memory": ddb.NewMemory(*def)}
	for _, kind := range ddbtest.Servers(t) {
		client, err := dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, kind), MaxAttempts: 1})
		check.OK(t, err)
		check.OK(t, table.Create(t.Context(), client, *def))
		engine := dynamo.NewEngine(client)
		engine.Units = true
		all[kind] = engine
	}
	return def, all
}

// known are the differences between a server and DynamoDB's rules that are taken as they are, each
// with what it is.
type known struct {
	kind ddbtest.Kind
	what string
	// is tells the difference from others.
	is func(r ddb.Request, memory, server answer) bool
}

type answer struct {
	ddb.Answer
	err error
}

// plain is an answer as two are compared: items in an order of their own where the request promises
// none.
func plain(r ddb.Request, a answer) map[string]string {
	texts := make([]string, len(a.Items))
	for i, it := range a.Items {
		texts[i] = it.String()
	}
	switch r := r.(type) {
	case ddb.Scan, ddb.BatchGet:
		slices.Sort(texts)
	case ddb.Query:
		// Entries of an index that have the same keys there are in no order.
		if r.OfIndex && r.Limit > 0 {
			return map[string]string{"count": fmt.Sprint(len(texts))}
		}
		if r.OfIndex {
			slices.Sort(texts)
		}
	}
	out := map[string]string{
		"item": a.Item.String(), "held": fmt.Sprint(a.Held), "items": strings.Join(texts, "\n"),
		"next": a.Next.String(), "error": "",
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

// TestEnginesAgree makes random requests of the engine in memory and of both servers: they answer
// the same, and charge the same.
func TestEnginesAgree(t *testing.T) {
	def, all := engines(t)
	rapid.Check(t, func(rt *rapid.T) {
		for _, engine := range all {
			if a := do(t.Context(), engine, everyKey(def)); a.err != nil {
				rt.Fatal(a.err)
			}
		}
		for i := range rapid.IntRange(5, 30).Draw(rt, "requests") {
			r := requests(def).Draw(rt, fmt.Sprint("request ", i))
			want := do(t.Context(), all["memory"], r)
			for _, kind := range slices.Backward(ddbtest.Servers(t)) {
				got := do(t.Context(), all[kind], r)
				if slices.ContainsFunc(differences, func(k known) bool {
					return k.kind == kind && k.is(r, want, got)
				}) {
					if ddb.Writes(r) {
						return // from here on the tables differ
					}
					continue
				}
				if want.err == nil && got.err == nil && want.Units != got.Units &&
					!chargedElsewise(kind, r, want) {
					rt.Fatalf("%s: %T %+v is charged %v, in memory %v", kind, r, r, got.Units, want.Units)
				}
				if diff := cmp.Diff(plain(r, want), plain(r, got)); diff != "" {
					rt.Fatalf("%s: %T %+v: (-memory +server)\n%s\nmemory: %v\nserver: %v", kind, r, r, diff,
						want.err, got.err)
				}
			}
		}
	})
}

func do(ctx context.Context, engine ddb.Engine, r ddb.Request) answer {
	a, err := engine.Do(ctx, r)
	return answer{a, err}
}

// differences are those of the servers. DynamoDB Local is taken for right where the two servers
// differ.
var differences = []known{
	{ddbtest.Dynoxide, "removes an element of what the item does not have", takesInvalid("is in nothing that the item has")},
	{ddbtest.Dynoxide, "compares a path with itself", takesInvalid("is compared with itself")},
	{ddbtest.Dynoxide, "compares values that have no order", takesInvalid("is compared with a value of the wrong type")},
	{ddbtest.Dynoxide, "fills a list with nulls up to an element that is set beyond its end",
		func(r ddb.Request, _, server answer) bool {
			update, ok := r.(ddb.Update)
			return ok && server.Held && slices.ContainsFunc(update.Do, func(a ddb.Action) bool {
				return a.Verb != ddb.Remove && a.Path == ddb.Path("l").Index(2)
			})
		}},
	{ddbtest.DynamoDBLocal, "tells no next page where this one ends at the bound that was asked for",
		func(r ddb.Request, memory, server answer) bool {
			q, ok := r.(ddb.Query)
			return ok && !q.Where.IsZero() && len(server.Items) == q.Limit && !server.Next.Exists() &&
				slices.EqualFunc(memory.Items, server.Items, ddb.Item.Equal)
		}},
}

// chargedElsewise reports whether a server charges a request otherwise than DynamoDB does: neither
// has its units with a failed condition, and DynamoDB Local charges nothing for a page or a batch
// that found nothing, more than is written by a batch, and an index for an entry that stays as it
// is.
func chargedElsewise(kind ddbtest.Kind, r ddb.Request, memory answer) bool {
	switch r.(type) {
	case ddb.Put, ddb.Update, ddb.Delete:
		return !memory.Held || kind == ddbtest.DynamoDBLocal && memory.Units.Index == 0
	case ddb.Query, ddb.Scan:
		return kind == ddbtest.DynamoDBLocal && len(memory.Items) == 0
	case ddb.BatchGet, ddb.BatchWrite:
		return kind == ddbtest.DynamoDBLocal
	}
	return false
}

// takesInvalid is a difference of a server that does what DynamoDB refuses.
func takesInvalid(problem string) func(r ddb.Request, memory, server answer) bool {
	return func(_ ddb.Request, memory, server answer) bool {
		return server.err == nil && errors.Is(memory.err, ddb.ErrInvalid) &&
			strings.Contains(memory.err.Error(), problem)
	}
}
