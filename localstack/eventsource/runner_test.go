package eventsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
)

// started is a runner at work in a bubble of virtual time.
type started struct {
	*Runner
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// startRunner begins a run of a mapping; change may set other values. The
// run has to end with wait.
func startRunner(t *testing.T, stream Streams, f Invoke, change func(*Mapping, *Config)) *started {
	t.Helper()
	m, c := validMapping(), Config{Streams: stream, Invoke: f, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&m, &c)
	}
	r, err := New(m, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &started{Runner: r, t: t, stop: stop, done: make(chan error, 1)}
	go func() { s.done <- r.Run(ctx) }()
	return s
}

// drain waits until everything written so far is dealt with.
func (s *started) drain() {
	s.t.Helper()
	since := time.Now()
	for range 10_000 {
		if s.Idle(since) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("not drained: %+v", s.Stats())
}

// end stops the runner and returns what Run returned.
func (s *started) end() error {
	s.stop()
	return <-s.done
}

func TestRunnerDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a", "b")
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, func(m *Mapping, _ *Config) {
			m.BatchSize = 2
			m.Filters = []string{`{"dynamodb": {"Keys": {"id": {"S": [{"prefix": "x"}]}}}}`}
		})
		for i := range 5 {
			stream.put("a", fmt.Sprintf("x%d", i))
			stream.put("b", fmt.Sprintf("y%d", i))
		}
		if run.Idle(time.Now()) {
			t.Error("idle before anything was read")
		}
		run.drain()
		stream.put("a", "x5")
		if run.Idle(time.Now()) {
			t.Error("idle although a record was written after the last poll")
		}
		run.drain()
		if err := run.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if diff := cmp.Diff([]string{"x0", "x1", "x2", "x3", "x4", "x5"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		got := run.Stats()
		got.Polls, got.IteratorAge = 0, 0
		if diff := cmp.Diff(Stats{Read: 11, Filtered: 5, Delivered: 6, Invocations: 4}, got); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestRunnerDropsWhatAWSWouldNotWriteAndWhatIsNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		stream.put("a", "1")
		unchanged := modified(item{"id": s("1")}, item{"id": s("1")})
		broken := modified(nil, nil)
		broken.Dynamodb.Keys = nil
		nothing := types.Record{EventName: types.OperationTypeInsert}
		stream.shard("a").records = append(stream.shard("a").records, unchanged, broken, nothing)
		stream.put("a", "2")
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		if err := run.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if diff := cmp.Diff([]string{"1", "2"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if got := run.Stats(); got.Unchanged != 1 || got.Unreadable != 2 || got.Read != 5 {
			t.Errorf("stats = %+v", got)
		}
	})
}

func TestRunnerStartsAtLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("closed", "parent", "open")
		stream.put("closed", "old")
		stream.split("closed")
		stream.put("parent", "old")
		stream.split("parent", "first")
		stream.put("first", "old")
		stream.put("open", "old")
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, func(m *Mapping, _ *Config) { m.StartingPosition = Latest })
		run.drain()
		stream.put("open", "new")
		stream.split("open", "child")
		stream.put("child", "newer") // before the child is known
		run.drain()
		stream.put("first", "newest")
		run.drain()
		_ = run.end()
		if diff := cmp.Diff([]string{"new", "newer", "newest"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

// DynamoDB Local refuses LATEST on an empty shard.
func TestRunnerLatestIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		stream.fail = func(op string) error {
			if op == "records" && stream.calls[op] == 1 {
				return &types.TrimmedDataAccessException{}
			}
			return nil
		}
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, func(m *Mapping, _ *Config) { m.StartingPosition = Latest })
		run.drain()
		stream.put("a", "new")
		run.drain()
		_ = run.end()
		if diff := cmp.Diff([]string{"new"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

func TestRunnerReadsParentsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		stream.put("a", "1")
		stream.split("a", "b", "c")
		stream.put("b", "2")
		stream.put("c", "3")
		stream.split("c", "d")
		stream.put("d", "4")
		f := &function{t: t}
		f.answer = func(records []received) (string, string, error) {
			time.Sleep(time.Minute)
			return "", "", nil
		}
		run := startRunner(t, stream, f.invoke, nil)
		time.Sleep(30 * time.Second)
		if diff := cmp.Diff([]string{"1"}, f.keys()); diff != "" {
			t.Errorf("while the parent's records are in work (-want +got):\n%s", diff)
		}
		run.drain()
		_ = run.end()
		keys := f.keys()
		if len(keys) != 4 || keys[0] != "1" || keys[3] != "4" {
			t.Errorf("delivered %v", keys)
		}
	})
}

func TestRunnerForgetsTrimmedShards(t *testing.T) {
	tree := newShardTree()
	shard := func(id, parent string) types.Shard {
		return types.Shard{ShardId: &id, ParentShardId: aws.String(parent)}
	}
	tree.see([]types.Shard{shard("a", "trimmed"), shard("b", "a")}, TrimHorizon)
	if got := tree.start(); len(got) != 1 || got[0].id != "a" {
		t.Fatalf("started %v, want a", got)
	}
	if got := tree.start(); len(got) != 0 {
		t.Errorf("started again: %v", got)
	}
	tree.done("a")
	tree.see([]types.Shard{shard("b", "a")}, TrimHorizon)
	if _, ok := tree.state["a"]; ok {
		t.Error("a is still known")
	}
	if got := tree.start(); len(got) != 1 || got[0].id != "b" {
		t.Errorf("started %v, want b", got)
	}
}

// A stream that is being made has no shards yet; they do not take long.
func TestRunnerAwaitsTheFirstShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream()
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		since := time.Now()
		time.Sleep(time.Minute)
		if run.Idle(since) {
			t.Error("idle without a shard")
		}
		stream.change(func() { stream.shards = []*memoryShard{{id: "a"}} })
		stream.put("a", "1")
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"1"}, f.keys()); diff != "" {
			t.Errorf("delivered within a second (-want +got):\n%s", diff)
		}
		_ = run.end()
	})
}

// A closed shard may have children that nobody has seen.
func TestRunnerIsNotIdleBeforeItKnowsTheChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		down := true
		stream.change(func() {
			stream.fail = func(op string) error {
				if op == "describe" && down {
					return errors.New("connection refused")
				}
				return nil
			}
		})
		stream.split("a", "b")
		stream.put("b", "1")
		since := time.Now()
		time.Sleep(3 * time.Second)
		if run.Idle(since) {
			t.Error("idle while the child is not known")
		}
		stream.change(func() { down = false })
		run.drain()
		_ = run.end()
		if diff := cmp.Diff([]string{"1"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

// A shard that is trimmed as a whole has nothing more to give, and its child
// must not wait for it.
func TestRunnerGoesOnBehindAShardThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		stream.put("a", "1")
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.split("a", "b")
		stream.put("b", "2")
		stream.change(func() { stream.shards = stream.shards[1:] })
		run.drain()
		_ = run.end()
		if diff := cmp.Diff([]string{"1", "2"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

// Without ReportBatchItemFailures the response is not looked at.
func TestRunnerIgnoresTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		stream.put("a", "1")
		f := &function{t: t}
		f.answer = func([]received) (string, string, error) {
			return `{"batchItemFailures": [{"itemIdentifier": ""}]}`, "", nil
		}
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		_ = run.end()
		if got := run.Stats(); got.Delivered != 1 || got.Invocations != 1 {
			t.Errorf("stats = %+v", got)
		}
	})
}

func TestRunnerRenewsItsIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		stream.put("a", "1")
		stream.put("a", "2")
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.change(func() { stream.era++ })
		stream.put("a", "3")
		run.drain()
		stream.change(func() { stream.era++; stream.shard("a").trimmed = 3 })
		stream.put("a", "4")
		run.drain()
		_ = run.end()
		if diff := cmp.Diff([]string{"1", "2", "3", "4"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

// A LATEST iterator must survive an error: another one would begin behind
// what was written in between.
func TestRunnerKeepsItsIteratorThroughErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		down := true
		stream.fail = func(op string) error {
			if op == "records" && down {
				return errors.New("connection refused")
			}
			return nil
		}
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, func(m *Mapping, _ *Config) { m.StartingPosition = Latest })
		time.Sleep(time.Second)
		stream.put("a", "1")
		stream.change(func() { down = false })
		run.drain()
		_ = run.end()
		if diff := cmp.Diff([]string{"1"}, f.keys()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

func TestRunnerBacksOffFromErrors(t *testing.T) {
	for _, op := range []string{"describe", "iterator", "records"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := newMemoryStream("a")
				stream.put("a", "1")
				down := true
				stream.fail = func(called string) error {
					if called == op && down {
						return &types.LimitExceededException{}
					}
					return nil
				}
				f := &function{t: t}
				run := startRunner(t, stream, f.invoke, nil)
				time.Sleep(time.Minute)
				calls := 0
				stream.change(func() { calls, down = stream.calls[op], false })
				if calls < 10 || calls > 20 {
					t.Errorf("%d calls within a minute of errors", calls)
				}
				run.drain()
				_ = run.end()
				if diff := cmp.Diff([]string{"1"}, f.keys()); diff != "" {
					t.Errorf("delivered (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRunnerEndsWithItsStream(t *testing.T) {
	t.Run("never there", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stream := newMemoryStream()
			stream.gone = true
			run := startRunner(t, stream, (&function{t: t}).invoke, nil)
			err := <-run.done
			if err == nil || !strings.Contains(err.Error(), "does not exist") || !strings.Contains(err.Error(), `"M"`) {
				t.Errorf("Run = %v", err)
			}
		})
	})
	t.Run("deleted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stream := newMemoryStream("a")
			stream.put("a", "1")
			f := &function{t: t}
			run := startRunner(t, stream, f.invoke, nil)
			run.drain()
			stream.change(func() { stream.gone = true })
			if err := <-run.done; !isNotFound(err) {
				t.Errorf("Run = %v", err)
			}
			if diff := cmp.Diff([]string{"1"}, f.keys()); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
		})
	})
}

func TestRunnerPollsLittleWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		f := &function{t: t}
		delivered := make(chan time.Time, 2)
		f.answer = func([]received) (string, string, error) {
			delivered <- time.Now()
			return "", "", nil
		}
		run := startRunner(t, stream, f.invoke, nil)
		time.Sleep(10 * time.Second)
		before := run.Stats().Polls
		time.Sleep(time.Minute)
		if polls := run.Stats().Polls - before; polls > 240 {
			t.Errorf("%d polls in an idle minute, at most 240 are expected", polls)
		}

		// The first record is found within the idle interval, those that
		// follow it quickly.
		written := time.Now()
		stream.put("a", "1")
		if wait := (<-delivered).Sub(written); wait > 250*time.Millisecond {
			t.Errorf("the first record waited %v", wait)
		}
		written = time.Now()
		stream.put("a", "2")
		if wait := (<-delivered).Sub(written); wait > 50*time.Millisecond {
			t.Errorf("the record after it waited %v", wait)
		}
		_ = run.end()
	})
}

func TestRunnerWaitsForInvocationsWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		for i := range 3 {
			stream.put("a", fmt.Sprint(i))
		}
		finished := false
		var inner error
		run := startRunner(t, stream, func(ctx context.Context, _ []byte) ([]byte, string, error) {
			time.Sleep(time.Minute)
			finished, inner = true, ctx.Err()
			return nil, "", nil
		}, func(m *Mapping, _ *Config) { m.BatchSize = 1 })
		time.Sleep(time.Second)
		if got := run.Stats(); got.InFlight != 1 || got.Waiting != 3 {
			t.Errorf("stats = %+v", got)
		}
		if err := run.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if !finished || inner != nil {
			t.Errorf("Run ended with the invocation finished = %v, its context %v", finished, inner)
		}
		if got := run.Stats(); got.Invocations != 1 || got.Delivered != 1 || got.InFlight != 0 {
			t.Errorf("stats = %+v", got)
		}
	})
}

func TestRunnerDoesNotReadAheadForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		for i := range 3 * readAhead {
			stream.put("a", fmt.Sprint(i%7))
		}
		open := make(chan struct{})
		f := &function{t: t}
		f.answer = func([]received) (string, string, error) { <-open; return "", "", nil }
		run := startRunner(t, stream, f.invoke, nil)
		time.Sleep(time.Minute)
		if read := run.Stats().Read; read < readAhead || read > readAhead+2*pollLimit {
			t.Errorf("%d records were read ahead", read)
		}
		close(open)
		run.drain()
		_ = run.end()
		if got := run.Stats(); got.Delivered != 3*readAhead {
			t.Errorf("stats = %+v", got)
		}
	})
}

func TestRunnerInvokesLanesInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		for range 5 {
			for key := range 20 {
				stream.put("a", fmt.Sprint(key))
			}
		}
		var mu sync.Mutex
		active, most := map[string]bool{}, 0
		invoke := func(_ context.Context, payload []byte) ([]byte, string, error) {
			records := receive(t, payload)
			mu.Lock()
			for _, r := range records {
				if active[r.key()] {
					t.Errorf("key %s is in two invocations", r.key())
				}
			}
			active[records[0].key()] = true
			most = max(most, len(active))
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			delete(active, records[0].key())
			mu.Unlock()
			return nil, "", nil
		}
		run := startRunner(t, stream, invoke, func(m *Mapping, _ *Config) { m.BatchSize, m.ParallelizationFactor = 1, 4 })
		run.drain()
		_ = run.end()
		if most != 4 || run.Stats().Delivered != 100 {
			t.Errorf("%d invocations at once, stats %+v", most, run.Stats())
		}
	})
}

func TestRunnerGathersForTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		f := &function{t: t}
		run := startRunner(t, stream, f.invoke, func(m *Mapping, _ *Config) { m.BatchSize, m.BatchingWindow = 3, 10*time.Second })
		for i := range 5 {
			stream.put("a", fmt.Sprint(i))
			time.Sleep(2 * time.Second)
		}
		run.drain()
		_ = run.end()
		var sizes []int
		for _, e := range f.events {
			sizes = append(sizes, len(e))
		}
		if diff := cmp.Diff([]int{3, 2}, sizes); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

// On-failure messages are compared with the example on AWS's page.
func TestRunnerTellsAboutFailures(t *testing.T) {
	const wantMessage = `{
		"requestContext": {
			"requestId": "UUID", "functionArn": "arn:aws:lambda:us-east-1:000000000000:function:sort",
			"condition": "RetryAttemptsExhausted", "approximateInvokeCount": 2
		},
		"responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": ERROR},
		"version": "1.0",
		"timestamp": "TIMESTAMP",
		"DDBStreamBatchInfo": {
			"shardId": "a", "startSequenceNumber": "FIRST", "endSequenceNumber": "LAST",
			"approximateArrivalOfFirstRecord": "2000-01-01T00:00:00Z", "approximateArrivalOfLastRecord": "2000-01-01T00:00:01Z",
			"batchSize": 2, "streamArn": "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/1"
		}
	}`
	tests := []struct {
		name                    string
		report                  bool
		response, functionError string
		wantError               string
	}{
		{name: "function error", functionError: "Unhandled", wantError: `"Unhandled"`},
		{name: "failed records", report: true, response: `{"batchItemFailures": [{"itemIdentifier": ""}]}`, wantError: `null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // virtual time begins at midnight of 2000-01-01
				stream := newMemoryStream("a")
				first := stream.put("a", "1")
				time.Sleep(time.Second)
				last := stream.put("a", "2")
				f := &function{t: t}
				f.answer = func([]received) (string, string, error) { return test.response, test.functionError, nil }
				var messages []string
				run := startRunner(t, stream, f.invoke, func(m *Mapping, c *Config) {
					m.MaximumRetryAttempts = new(1)
					m.OnFailureDestination = "arn:queue"
					if test.report {
						m.FunctionResponseTypes = []string{ReportBatchItemFailures}
					}
					c.OnFailure = func(_ context.Context, destination string, message []byte) error {
						messages = append(messages, destination, string(message))
						return errors.New("queue is full") // is logged, and the lane goes on
					}
				})
				run.drain()
				_ = run.end()
				if len(messages) != 2 || messages[0] != "arn:queue" {
					t.Fatalf("messages = %v", messages)
				}
				got := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`).ReplaceAllString(messages[1], "UUID")
				got = regexp.MustCompile(`2000-01-01T00:00:0\d\.\d{3}Z`).ReplaceAllString(got, "TIMESTAMP")
				want := strings.NewReplacer("FIRST", first, "LAST", last, "ERROR", test.wantError).Replace(wantMessage)
				if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
				if got := run.Stats(); got.Failed != 2 || got.Retries != 1 || got.Waiting != 0 || got.Delivered != 0 {
					t.Errorf("stats = %+v", got)
				}
			})
		})
	}
}

func TestFailureMessageWithoutAnInvocation(t *testing.T) {
	b := &batch{records: numbered("5"), condition: ageExceeded}
	message, err := failureOf(b, functionARN("arn:aws:lambda:x:1:function:f", "y"), "s", "shard", start)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(message, &got); err != nil {
		t.Fatal(err)
	}
	if _, ok := got["responseContext"]; ok || !strings.Contains(string(message), `"condition":"RecordAgeExceeded","approximateInvokeCount":0`) ||
		!strings.Contains(string(message), `"functionArn":"arn:aws:lambda:x:1:function:f"`) {
		t.Errorf("message = %s", message)
	}
}

// A record's age counts from when it was written, which DynamoDB Local tells
// to the minute only.
func TestRunnerDoesNotTakeFreshRecordsForOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		stream.put("a", "old") // at 00:00:00
		time.Sleep(59*time.Minute + 59*time.Second)
		f := &function{t: t}
		calls := 0
		f.answer = func([]received) (string, string, error) {
			calls++
			if calls < 4 {
				return "", "", errors.New("throttled")
			}
			return "", "", nil
		}
		run := startRunner(t, stream, f.invoke, func(m *Mapping, c *Config) {
			m.MaximumRecordAge = time.Minute
			c.Backoff = func(int) time.Duration { return 2 * time.Second }
		})
		run.drain()
		stream.put("a", "fresh")
		fresh := stream.shard("a").records[1].Dynamodb
		fresh.ApproximateCreationDateTime = aws.Time(fresh.ApproximateCreationDateTime.Truncate(time.Minute))
		run.drain()
		_ = run.end()
		if got := slices.Compact(f.keys()); !slices.Equal(got, []string{"fresh"}) || run.Stats().Failed != 1 {
			t.Errorf("delivered %v, stats %+v", got, run.Stats())
		}
	})
}

func TestDefaultBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 7: 6400 * time.Millisecond, 8: 10 * time.Second, 1000: 10 * time.Second} {
		for range 100 {
			if got := defaultBackoff(failures); got > want || got <= want/2 {
				t.Errorf("back-off after %d failures is %v, want above half of %v", failures, got, want)
			}
		}
	}
}
