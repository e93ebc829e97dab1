package pull_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/claimstest"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// pullEnv is a queue with a consumer on these stores.
func pullEnv(t *testing.T, store *delivery.Store,
	queues *cursor.Store) (claimstest.Env, *delivery.Deliverer) {
	t.Helper()
	now := time.Now()
	clock := func() time.Time { return now }
	sorter := check.Get(cursor.New(queues, &cursor.Options{Now: clock}))
	d := check.Get(delivery.New(store, sorter, &delivery.Options{Now: clock}))
	check.Get(d.Create(t.Context(), "q", "c", delivery.First))
	p := check.Get(delivery.NewClaims(d, &delivery.ClaimsOptions{MaxAttempts: 3}))
	last := int64(0)
	return claimstest.Env{
		Claims: p, Attempts: 3, Arrived: claimstest.Arrived(t, sorter), Deliverer: d,
		Put: func(n int) {
			var messages []cursor.Message
			for range n {
				last++
				messages = append(messages, cursor.Message{Queue: "q", Seq: last, Body: fmt.Append(nil, last)})
			}
			check.OK(t, sorter.Put(t.Context(), messages...)[0].Err)
		},
		Pass: func(d time.Duration) { now = now.Add(d) },
	}, d
}

func TestPullerConforms(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		claimstest.Run(t, func(t *testing.T) claimstest.Env {
			env, _ := pullEnv(t, delivery.NewMemory(), cursor.NewMemory())
			return env
		})
	})
	t.Run("in arrival order, at their seqs", func(t *testing.T) {
		claimstest.Run(t, func(t *testing.T) claimstest.Env {
			queues, of := cursor.NewMemory(), cursor.KindArrival
			sorter := check.Get(cursor.New(queues, nil))
			check.Get(sorter.Configure(t.Context(), "q", cursor.Change{Kind: &of}))
			env, _ := pullEnv(t, delivery.NewMemory(), queues)
			return env
		})
	})
	for _, kind := range ddbtest.Servers(t) {
		t.Run(string(kind), func(t *testing.T) {
			claimstest.Run(t, func(t *testing.T) claimstest.Env {
				store, queues := freshTables(t, kind)
				env, _ := pullEnv(t, store, queues)
				return env
			})
		})
	}
}

// TestPushLeavesAPreparedClaimAlone: a one-phase delivery waits for its end, however old it is.
func TestPushLeavesAPreparedClaimAlone(t *testing.T) {
	env, d := pullEnv(t, delivery.NewMemory(), cursor.NewMemory())
	env.Put(1)
	a := check.Get(env.Claims.Claim(t.Context(),
		delivery.Request{Queue: "q", Consumer: "c", ID: "r1"}))
	check.Get(env.Claims.Prepare(t.Context(), a.Held()))
	reader := delivery.Reader{Name: "c", Handle: func(context.Context, delivery.Batch) error {
		t.Error("delivered")
		return nil
	}}
	for range 2 {
		done := d.Deliver(t.Context(), "q", reader, -1)
		check.That(t, done.Outcome == delivery.Busy && done.Err == nil, "%+v; want that it is busy", done)
		env.Pass(time.Hour)
		check.Get(d.Sweep(t.Context(), delivery.SweepOptions{SettleWithin: 100 * time.Hour}))
	}
}

// TestClaimOfAConsumerMadeAnew has a process sleep between its look and its claim, while the
// consumer is removed and recreated at another place: token and state are what they were. What it
// read is not handed out, and what is, is what waits there.
func TestClaimOfAConsumerMadeAnew(t *testing.T) {
	tables := ddb.NewMemory(delivery.Names{}.Tables()...)
	var asleep func()
	view := ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if while := asleep; while != nil && r.Name() == "claim" {
			asleep = nil
			while()
		}
		return tables.Do(ctx, r)
	})
	env, d := pullEnv(t, delivery.NewStore(view, delivery.Names{}.Tables()), cursor.NewMemory())
	env.Put(9)
	asleep = func() {
		o := delivery.Order{Queue: "q", Consumer: "c", Reason: "why"}
		check.Get(d.Operate(t.Context(), does("remove", o, delivery.Token{}, "")))
		check.Get(d.Create(t.Context(), "q", "c", delivery.At(6)))
	}
	a, err := env.Claims.Claim(t.Context(),
		delivery.Request{Queue: "q", Consumer: "c", ID: "r", MaxMessages: 4})
	check.That(t, err == nil && a.Outcome == delivery.OK && a.From == 5 && a.To == 9 &&
		len(a.Messages) == 4 && a.Messages[0].Seq == 6,
		"claimed %s %d to %d with %d messages, %v; want 6 to 9", a.Outcome, a.From+1, a.To,
		len(a.Messages), err)
}

// does is an order of a kind, about a claim.
func does(kind string, o delivery.Order, token delivery.Token,
	outcome delivery.TokenOutcome) delivery.Order {
	o.Kind, o.Token, o.Outcome = kind, token, outcome
	return o
}

// freshTables makes new tables on a server and returns the stores on them.
func freshTables(t testing.TB, kind ddbtest.Kind) (*delivery.Store, *cursor.Store) {
	t.Helper()
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, kind)}))
	suffix := ddbtest.Suffix()
	names := cursor.Names{
		Messages: "messages" + suffix, Cursors: "cursors" + suffix,
		Trouble: "trouble" + suffix, Arrivals: "arrivals" + suffix,
	}
	consumers := delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix}
	all := append(append(consumers.Tables(), names.Tables()...), names.ArrivalsTable())
	check.OK(t, table.Create(t.Context(), client, all...))
	engine := dynamo.NewEngine(client)
	return delivery.NewStore(engine, consumers.Tables()), check.Get(cursor.NewStore(engine, names))
}
