package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// How the throughput is measured.
const (
	writers = 8
	batch   = 25
	during  = 10 * time.Second
)

// throughput prints how many messages a second the enqueue function takes over
// HTTP, beside the bare conditional puts that the same server takes.
func throughput(ctx context.Context, out io.Writer, root string) error {
	fmt.Fprintf(out, "==> %d clients, batches of %d over HTTP, against bare conditional puts, %v each on DynamoDB Local\n", writers, batch, during)
	messages, err := onFreshServer(ctx, func(endpoint string) (float64, error) { return overHTTP(ctx, root, endpoint) })
	if err != nil {
		return err
	}
	puts, err := onFreshServer(ctx, func(endpoint string) (float64, error) { return barePuts(ctx, endpoint, during) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "    %.0f messages a second over HTTP, %.0f bare puts a second: %.0f %%\n", messages, puts, 100*messages/puts)
	return nil
}

// onFreshServer measures on a server of its own: DynamoDB Local gets slower with
// all that it ever held, so the second on one would lose.
func onFreshServer(ctx context.Context, measure func(endpoint string) (float64, error)) (float64, error) {
	server, err := localdb.Start(ctx, localdb.DynamoDBLocal, "")
	if err != nil {
		return 0, err
	}
	defer server.Close()
	return measure(server.Endpoint)
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
	names := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Sweeps: "sweeps" + suffix}
	if err := table.Create(ctx, client, names.Tables()...); err != nil {
		return nil, err
	}
	return cursor.NewDynamo(client, names)
}

// barePuts is how many messages a second the store takes, on fresh tables.
func barePuts(ctx context.Context, endpoint string, during time.Duration) (float64, error) {
	store, err := freshStore(ctx, endpoint)
	if err != nil {
		return 0, err
	}
	put := func(ctx context.Context, writer, turn int) (int, error) {
		_, err := store.PutMessage(ctx, cursor.Message{
			Queue: fmt.Sprint("queue-", writer), Seq: int64(turn), Body: fmt.Appendf(nil, "%-100d", turn),
			Digest: make([]byte, 16), Op: make([]byte, 8), EnqueuedAt: time.Now(),
		})
		return 1, err
	}
	if _, err := rate(ctx, writers, 2*time.Second, func(ctx context.Context, writer, turn int) (int, error) {
		return put(ctx, writer, 1_000_000+turn)
	}); err != nil {
		return 0, err
	}
	return rate(ctx, writers, during, put)
}

// overHTTP is how many messages a second the local stack takes, in order.
func overHTTP(ctx context.Context, root, endpoint string) (float64, error) {
	stack, err := localstack.Run(ctx, localstack.Config{
		Templates: []string{filepath.Join(root, "localstack", "streamsort.template.json")},
		Env:       map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Server:    endpoint, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, err
	}
	defer stack.Close()
	api, err := client.New(stack.URL())
	if err != nil {
		return 0, err
	}
	next := make([]int, writers)
	put := func(ctx context.Context, writer, _ int) (int, error) {
		messages := make([]json.RawMessage, batch)
		for i := range messages {
			next[writer]++
			messages[i] = fmt.Appendf(nil, `{"queue":"queue-%d","seq":%d,"body":"%-98d"}`, writer, next[writer], next[writer])
		}
		outcomes, err := api.Put(ctx, messages)
		return len(outcomes), err
	}
	if _, err := rate(ctx, writers, 2*time.Second, put); err != nil {
		return 0, err
	}
	return rate(ctx, writers, during, put)
}
