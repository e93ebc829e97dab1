package eventsource_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/dynamo/streams"
	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/table"
)

// server is a table with a stream on a real server.
type server struct {
	t       *testing.T
	db      *dynamodb.Client
	streams eventsource.Streams
	table   string
	stream  string
}

// onServers runs a test on each kind of server.
func onServers(t *testing.T, view table.StreamView, test func(*testing.T, ddbtest.Kind, *server)) {
	for _, kind := range ddbtest.Servers(t) {
		t.Run(string(kind), func(t *testing.T) {
			endpoint := ddbtest.Endpoint(t, kind)
			db := check.Get(dynamo.New(&dynamo.Options{Endpoint: endpoint}))
			reader := check.Get(streams.New(endpoint))
			s := &server{t: t, db: db, streams: reader, table: "eventsource" + ddbtest.Suffix()}
			check.OK(t, table.Create(t.Context(), db, table.Definition{
				Name: s.table, Partition: table.Key{Name: "queue", Type: table.String}, Sort: table.Key{Name: "seq", Type: table.Number}, Stream: view,
			}))
			described, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &s.table})
			check.OK(t, err)
			s.stream = aws.ToString(described.Table.LatestStreamArn)
			test(t, kind, s)
		})
	}
}

func key(queue string, seq int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"queue": &types.AttributeValueMemberS{Value: queue},
		"seq":   &types.AttributeValueMemberN{Value: strconv.Itoa(seq)},
	}
}

// put writes version v of an item; the same version again changes nothing.
func (s *server) put(seq, v int) {
	s.t.Helper()
	item := key("q", seq)
	item["v"] = &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
	_, err := s.db.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: item})
	check.That(s.t, err == nil, "%v", err)
}

func (s *server) remove(seq int) {
	s.t.Helper()
	if _, err := s.db.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &s.table, Key: key("q", seq)}); err != nil {
		s.t.Error(err)
	}
}

// run starts a runner that ends with the test.
func (s *server) run(m template.Mapping, c eventsource.Config) *eventsource.Runner {
	s.t.Helper()
	m.LogicalID, m.Function, m.Enabled, m.MaxRetries, c.StreamARN = s.t.Name(), "function", true, -1, s.stream
	m.BatchSize, m.Parallelization = cmp.Or(m.BatchSize, 100), cmp.Or(m.Parallelization, 1)
	c.Streams, c.Logger = s.streams, slog.New(slog.DiscardHandler)
	c.Backoff = func(int) time.Duration { return time.Millisecond }
	r, err := eventsource.New(m, c)
	check.OK(s.t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		err := <-done
		check.That(s.t, err == nil, "Run = %v", err)
	})
	return r
}

// drain waits until everything written so far is dealt with.
func (s *server) drain(r *eventsource.Runner) {
	s.t.Helper()
	since := time.Now()
	await.Until(s.t, "the end of what is written", func() (bool, any) { return r.Idle(since), r.Stats() })
}

// items and versions are what TestOnServers writes: all versions of each item and then, as one
// version more, its deletion.
const items, versions = 12, 15

// history is what a function has accepted: for each item the versions in order. It fails often, in
// all ways.
type history struct {
	t    *testing.T
	mu   sync.Mutex
	dice *rand.Rand
	seen map[string][]int
}

func (h *history) invoke(_ context.Context, payload []byte) ([]byte, string, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		h.t.Errorf("event: %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	bad := len(event.Records)
	switch h.dice.IntN(6) {
	case 0:
		return nil, "", errors.New("throttled")
	case 1:
		return nil, "Unhandled", nil
	case 2:
		bad = h.dice.IntN(bad)
	}
	for _, r := range event.Records[:bad] {
		seq := r.Change.Keys["seq"].Number()
		version := versions
		if r.EventName != "REMOVE" {
			v, err := r.Change.NewImage["v"].Integer()
			check.That(h.t, err == nil, "record %+v: %v", r, err)
			version = int(v)
		}
		h.seen[seq] = append(h.seen[seq], version)
	}
	if bad == len(event.Records) {
		return nil, "", nil
	}
	answer, err := json.Marshal(events.DynamoDBEventResponse{
		BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: event.Records[bad].Change.SequenceNumber}},
	})
	return answer, "", err
}

// TestOnServers writes to a table while a failing function reads its stream, with duplicates. Each
// item's changes have to come in order, repetitions aside, and all of them, but none for a write
// that changed nothing.
func TestOnServers(t *testing.T) {
	onServers(t, table.NewAndOldImages, func(t *testing.T, kind ddbtest.Kind, s *server) {
		h := &history{t: t, dice: rand.New(rand.NewPCG(7, 7)), seen: map[string][]int{}}
		r := s.run(template.Mapping{
			StartingPosition: "TRIM_HORIZON", BatchSize: 7, Parallelization: 4, Bisect: true,
			ReportBatchItemFailures: true,
		}, eventsource.Config{Invoke: h.invoke, Chaos: eventsource.Chaos{Seed: 1, Duplicate: 0.3}})

		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for v := range versions {
					for seq := w; seq < items; seq += 4 {
						s.put(seq, v)
						if v%5 == 0 {
							s.put(seq, v) // changes nothing
						}
					}
				}
				for seq := w; seq < items; seq += 4 {
					s.remove(seq)
				}
			})
		}
		writers.Wait()
		s.drain(r)

		h.mu.Lock()
		defer h.mu.Unlock()
		for seq := range items {
			seen := h.seen[strconv.Itoa(seq)]
			next := 0 // the version that is awaited
			for i, v := range seen {
				check.Need(t, v <= next && (i == 0 || v <= seen[i-1]+1), "%d %d %d %v", seq, v, next, seen)
				next = max(next, v+1)
			}
			check.Is(t, next, versions+1, seq, seen)
		}
		stats := r.Stats()
		const want = items * (versions + 1)
		unchanged := map[ddbtest.Kind]int64{ddbtest.Dynoxide: items * versions / 5}[kind]
		if stats.Delivered != want || stats.Read != want+unchanged || stats.Unchanged != unchanged || stats.Failed != 0 || stats.Unreadable != 0 || stats.Repeated == 0 {
			t.Errorf("stats = %+v, want %d delivered, %d unchanged", stats, want, unchanged)
		}
	})
}

// TestOnServersLatestAndFilter reads a stream of keys, as the messages table has, from its end:
// what was there before does not come, nor what the filter holds back, and no record has images.
func TestOnServersLatestAndFilter(t *testing.T) {
	onServers(t, table.KeysOnly, func(t *testing.T, kind ddbtest.Kind, s *server) {
		var mu sync.Mutex
		var got []string
		invoke := func(_ context.Context, payload []byte) ([]byte, string, error) {
			var event events.DynamoDBEvent
			err := json.Unmarshal(payload, &event)
			check.That(t, err == nil, "event: %v", err)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range event.Records {
				if r.Change.NewImage != nil || r.Change.OldImage != nil || r.Change.StreamViewType != "KEYS_ONLY" || r.AWSRegion != "us-east-1" || r.EventSourceArn != s.stream {
					t.Errorf("record = %+v", r)
				}
				age := time.Since(r.Change.ApproximateCreationDateTime.Time)
				check.That(t, age >= -time.Second && age <= 3*time.Minute, "record is %v old", age)
				got = append(got, fmt.Sprint(r.EventName, r.Change.Keys["seq"].Number()))
			}
			return nil, "", nil
		}
		position := "LATEST"
		if kind == ddbtest.Given {
			position = "TRIM_HORIZON" // whether it knows LATEST is its own matter
		} else {
			s.put(0, 0)
		}
		r := s.run(template.Mapping{StartingPosition: position, Filters: []string{`{"eventName": ["INSERT"]}`}},
			eventsource.Config{Invoke: invoke})
		s.drain(r)
		s.put(1, 0)
		s.put(1, 1)
		s.put(2, 0)
		s.remove(1)
		s.drain(r)
		mu.Lock()
		defer mu.Unlock()
		check.Is(t, fmt.Sprint(got), "[INSERT1 INSERT2]", got)
		stats := r.Stats()
		check.That(t, stats.Filtered == 2 && stats.Delivered == 2, "stats = %+v", stats)
	})
}

// TestOnServersEmptyStream starts at the end of a stream without records, which DynamoDB Local may
// refuse.
func TestOnServersEmptyStream(t *testing.T) {
	onServers(t, table.NewImage, func(t *testing.T, _ ddbtest.Kind, s *server) {
		r := s.run(template.Mapping{StartingPosition: "LATEST"}, eventsource.Config{
			Invoke: func(context.Context, []byte) ([]byte, string, error) { return nil, "", nil },
		})
		s.drain(r)
		s.put(1, 0)
		s.drain(r)
		check.Is(t, r.Stats().Delivered, 1)
	})
}
