package eventsource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/dynamo/streams"
	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/table"
)

// TestOnServers reads a stream of keys, as the messages table has, of each kind of server from its
// end, which DynamoDB Local may refuse where the stream is empty: what was there before does not
// come, nor what the filter holds back, and no record has images.
func TestOnServers(t *testing.T) {
	for _, kind := range ddbtest.Servers(t) {
		if kind == ddbtest.Given {
			continue // whether it knows LATEST is its own matter
		}
		t.Run(string(kind), testOnServer(kind))
	}
}

func testOnServer(kind ddbtest.Kind) func(*testing.T) {
	return func(t *testing.T) {
		endpoint, name := ddbtest.Endpoint(t, kind), "eventsource"+ddbtest.Suffix()
		db := check.Get(dynamo.New(&dynamo.Options{Endpoint: endpoint}))
		check.OK(t, table.Create(t.Context(), db, table.Definition{
			Name: name, Partition: table.Key{Name: "queue", Type: table.String},
			Sort: table.Key{Name: "seq", Type: table.Number}, Stream: table.KeysOnly,
		}))
		about := check.Get(db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}))
		arn := *about.Table.LatestStreamArn
		put := func(seq, v int64) {
			check.Get(db.PutItem(t.Context(),
				&dynamodb.PutItemInput{TableName: &name, Item: dynamo.ToSDK(ddb.Fields{
					"queue": ddb.Text("q"), "seq": ddb.Int(seq), "v": ddb.Int(v),
				}.Item())}))
		}
		var mu sync.Mutex
		got := map[string][]string{}
		start := func(filter string) *eventsource.Runner {
			r := check.Get(eventsource.New(template.Mapping{
				Function: filter, Enabled: true, MaxRetries: -1, StartingPosition: "LATEST",
				BatchSize: 100, Parallelization: 1, Filters: []string{filter},
			}, eventsource.Config{
				Streams: check.Get(streams.New(endpoint)), StreamARN: arn,
				Logger: slog.New(slog.DiscardHandler),
				Invoke: func(_ context.Context, payload []byte) ([]byte, string, error) {
					var event events.DynamoDBEvent
					check.OK(t, json.Unmarshal(payload, &event))
					mu.Lock()
					defer mu.Unlock()
					for _, r := range event.Records {
						got[filter] = append(got[filter], fmt.Sprint(r.EventName, r.Change.Keys["seq"].Number()))
						check.That(t, r.Change.NewImage == nil && r.EventSourceArn == arn, "record = %+v", r)
						age := time.Since(r.Change.ApproximateCreationDateTime.Time)
						check.That(t, age >= -time.Second && age <= 3*time.Minute, "record is %v old", age)
					}
					return nil, "", nil
				},
			}))
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			t.Cleanup(func() { stop(); check.OK(t, <-done) })
			return r
		}
		drain := func(runners ...*eventsource.Runner) {
			t.Helper()
			since := time.Now()
			for _, r := range runners {
				await.Until(t, "all to be read", func() (bool, any) { return r.Idle(since), r.Stats() })
			}
		}
		const all, inserts = `{"eventSource": ["aws:dynamodb"]}`, `{"eventName": ["INSERT"]}`
		first := start(all)
		drain(first)
		put(0, 0)
		drain(first)
		second := start(inserts)
		drain(second)
		put(1, 0)
		put(1, 1)
		put(2, 0)
		drain(first, second)
		mu.Lock()
		defer mu.Unlock()
		check.Is(t, fmt.Sprint(got[all]), "[INSERT0 INSERT1 MODIFY1 INSERT2]")
		check.Is(t, fmt.Sprint(got[inserts]), "[INSERT1 INSERT2]")
		check.Is(t, second.Stats().Filtered, 1)
	}
}
