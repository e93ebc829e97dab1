package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// How many write at a time, and how many messages a batch has.
const (
	writers = 8
	batch   = 25
)

// throughput measures how many messages a second the enqueue function takes over
// HTTP, beside the bare conditional puts that the same server takes.
func throughput(ctx context.Context, root string) (figures.Measured, error) {
	m := figures.Measured{
		Title: "Messages a second over HTTP",
		About: fmt.Sprintf("%d clients send batches of %d to the local stack on DynamoDB Local, in turn with as many writers' bare conditional puts, "+
			"%d times %v each. The limit is what those puts would store: a request a message and one a batch, or two a batch that is one item.", writers, batch, rounds, each),
		Case: "messages", Others: []string{"bare conditional puts"},
	}
	for _, c := range []struct {
		name     string
		kind     string // beside each message
		requests float64
	}{{"an item each", "", 1 + 1.0/batch}, {"one item a batch", `,"kind":"arrival"`, 2.0 / batch}} {
		messages, bare, err := overHTTP(ctx, root, c.kind)
		if err != nil {
			return m, err
		}
		r := perSecond(c.name, messages, bare, c.requests)
		r.Why = "clients, API, functions and stream readers share one machine's processors with the server; the puts share them with it alone"
		m.Rows = append(m.Rows, r)
	}
	return m, nil
}

// perSecond is the row of a rate, where a message takes so many requests that write at least.
func perSecond(name string, messages, bare, requests float64) figures.MeasuredRow {
	return figures.MeasuredRow{
		Name: name, Limit: fmt.Sprintf("%.0f a second", bare/requests), Ours: fmt.Sprintf("%.0f a second", messages), Ratio: bare / requests / messages,
		Others: []string{fmt.Sprintf("%.0f a second", bare)},
	}
}

// rate runs do by so many writers for a while, and returns how many a second it
// says were done.
func rate(ctx context.Context, writers int, during time.Duration, do func(ctx context.Context, writer, turn int) (int, error)) (float64, error) {
	var done atomic.Int64
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for writer := range writers {
		group.Go(func() error {
			for turn := 0; time.Since(began) < during; turn++ {
				n, err := do(ctx, writer, turn)
				if err != nil {
					return err
				}
				done.Add(int64(n))
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(done.Load()) / time.Since(began).Seconds(), err
}

// freshStore is a store on tables of its own.
func freshStore(ctx context.Context, endpoint string) (*cursor.Store, error) {
	client, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	if err != nil {
		return nil, err
	}
	suffix := localdb.Suffix()
	names := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix, Arrivals: "arrivals" + suffix}
	if err := table.Create(ctx, client, append(names.Tables(), names.ArrivalsTable())...); err != nil {
		return nil, err
	}
	return cursor.NewDynamo(client, names)
}

// overHTTP is how many messages a second the local stack takes, in order, and how many bare puts its server.
func overHTTP(ctx context.Context, root, kind string) (messages, bare float64, err error) {
	server, err := localdb.Start(ctx, localdb.DynamoDBLocal, "")
	if err != nil {
		return 0, 0, err
	}
	defer server.Close()
	stack, err := localstack.Run(ctx, localstack.Config{
		Templates: []string{filepath.Join(root, "localstack", "streamsort.template.json")},
		Env:       map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Server:    server.Endpoint, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, 0, err
	}
	defer stack.Close()
	api, err := client.New(stack.URL())
	if err != nil {
		return 0, 0, err
	}
	next := make([]int, writers)
	return inTurn(ctx, server.Endpoint, writers, func(ctx context.Context, writer, _ int) (int, error) {
		messages := make([]json.RawMessage, batch)
		for i := range messages {
			next[writer]++
			messages[i] = fmt.Appendf(nil, `{"queue":"queue-%d","seq":%d%s,"body":"%-98d"}`, writer, next[writer], kind, next[writer])
		}
		outcomes, err := api.Put(ctx, messages)
		return len(outcomes), err
	})
}

// inTurn is how many messages a second so many writers put, and how many bare conditional puts one partition of the
// same server takes meanwhile.
func inTurn(ctx context.Context, endpoint string, writing int, put putter) (messages, bare float64, err error) {
	store, err := freshStore(ctx, endpoint)
	if err != nil {
		return 0, 0, err
	}
	barePut := counting(writers, func(ctx context.Context, n int) (int, error) {
		_, err := store.Requests(queuelog.Inside{}).PutMessage(ctx, bareMessage(n))
		return 1, err
	})
	for n := range 1 + rounds { // the first is to warm up
		a, err := rate(ctx, writing, each, put)
		if err != nil {
			return 0, 0, err
		}
		b, err := rate(ctx, writers, each, barePut)
		if err != nil {
			return 0, 0, err
		}
		if n > 0 {
			messages, bare = messages+a/rounds, bare+b/rounds
		}
	}
	return messages, bare, nil
}
