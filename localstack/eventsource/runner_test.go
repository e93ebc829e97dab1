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
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

// started is a runner at work in a bubble of virtual time.
type started struct {
	*Runner
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// startRunner begins a run of a mapping; change may set other values. The run has to end with wait.
func startRunner(t *testing.T, stream Streams, f Invoke,
	change func(*template.Mapping, *Config)) *started {
	t.Helper()
	m := template.Mapping{
		LogicalID: "M", Function: "sort", Enabled: true, StartingPosition: "TRIM_HORIZON",
		BatchSize: 100, Parallelization: 1, MaxRetries: -1,
	}
	c := Config{Streams: stream, StreamARN: "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/1",
		Invoke: f, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&m, &c)
	}
	r := check.Get(New(m, c))
	ctx, stop := context.WithCancel(t.Context())
	s := &started{Runner: r, t: t, stop: stop, done: make(chan error, 1)}
	go func() { s.done <- r.Run(ctx) }()
	return s
}

// latest has a run begin at the end of its stream.
func latest(m *template.Mapping, _ *Config) { m.StartingPosition = "LATEST" }

// drain waits until everything written so far is dealt with.
func (s *started) drain() {
	s.t.Helper()
	since := time.Now()
	for range 10_000 {
		if s.Idle(since) {
			return
		}
		bubble.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("not drained: %+v", s.Stats())
}

// end stops the runner and returns what Run returned.
func (s *started) end() error {
	s.stop()
	return <-s.done
}

// delivered drains and ends the runner, and checks what the function got.
func (s *started) delivered(f *function, want ...string) {
	s.t.Helper()
	s.drain()
	check.OK(s.t, s.end())
	check.Is(s.t, cmp.Diff(want, f.keys()), "")
}

func TestRunnerDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a", "b"), &function{t: t}
		run := startRunner(t, stream, f.invoke, func(m *template.Mapping, _ *Config) {
			m.BatchSize = 2
			m.Filters = []string{`{"dynamodb": {"Keys": {"id": {"S": [{"prefix": "x"}]}}}}`}
		})
		for i := range 5 {
			stream.put("a", fmt.Sprintf("x%d", i))
			stream.put("b", fmt.Sprintf("y%d", i))
		}
		check.That(t, !run.Idle(time.Now()), "idle before anything was read")
		run.drain()
		stream.put("a", "x5")
		check.That(t, !run.Idle(time.Now()), "idle although a record was written after the last poll")
		run.delivered(f, "x0", "x1", "x2", "x3", "x4", "x5")
		got := run.Stats()
		got.Polls, got.IteratorAge = 0, 0
		check.Is(t, cmp.Diff(Stats{Read: 11, Filtered: 5, Delivered: 6, Invocations: 4}, got), "")
	})
}

// What chaos drops is dealt with, and nobody is notified.
func TestRunnerChaosDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		run := startRunner(t, stream, f.invoke, func(m *template.Mapping, c *Config) {
			m.OnFailure = "failures"
			c.Chaos = Chaos{Drop: 1}
			c.OnFailure = func(string, []byte) { t.Error("somebody was notified") }
		})
		stream.put("a", "x")
		run.delivered(f)
		check.Is(t, run.Stats().Dropped, 1)
	})
}

func TestRunnerDropsWhatAWSWouldNotWriteAndWhatIsNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "1")
		unchanged := modified(item{"id": s("1")}, item{"id": s("1")})
		broken := modified(nil, nil)
		broken.Dynamodb.Keys = nil
		nothing := types.Record{EventName: types.OperationTypeInsert}
		stream.shard("a").records = append(stream.shard("a").records, unchanged, broken, nothing)
		stream.put("a", "2")
		run := startRunner(t, stream, f.invoke, nil)
		run.delivered(f, "1", "2")
		got := run.Stats()
		check.That(t, got.Unchanged == 1 && got.Unreadable == 2 && got.Read == 5, "stats = %+v", got)
	})
}

// Lanes are invoked beside each other, and waited for in the end.
func TestRunnerWaitsForInvocationsWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := newMemoryStream("a")
		for i := range 20 {
			stream.put("a", fmt.Sprint(i))
		}
		run := startRunner(t, stream, func(ctx context.Context, _ []byte) ([]byte, string, error) {
			bubble.Sleep(time.Minute)
			return nil, "", ctx.Err()
		}, func(m *template.Mapping, _ *Config) { m.BatchSize, m.Parallelization = 1, 4 })
		bubble.Sleep(time.Second)
		got := run.Stats()
		check.That(t, got.InFlight == 4 && got.Waiting == 20, "stats = %+v", got)
		check.OK(t, run.end())
		got = run.Stats()
		check.That(t, got.Invocations == 4 && got.Delivered == 4 && got.InFlight == 0, "stats = %+v", got)
	})
}

// On-failure messages are compared with the example on AWS's page.
func TestRunnerReportsFailures(t *testing.T) {
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
				stream, f := newMemoryStream("a"), &function{t: t}
				first := stream.put("a", "1")
				bubble.Sleep(time.Second)
				last := stream.put("a", "2")
				f.answer = func([]received) (string, string, error) {
					return test.response, test.functionError, nil
				}
				var messages []string
				run := startRunner(t, stream, f.invoke, func(m *template.Mapping, c *Config) {
					m.MaxRetries, m.OnFailure, m.ReportBatchItemFailures = 1, "arn:queue", test.report
					c.OnFailure = func(queue string, message []byte) {
						messages = append(messages, queue, string(message))
					}
				})
				run.drain()
				_ = run.end()
				check.Need(t, len(messages) == 2 && messages[0] == "arn:queue", "messages = %v", messages)
				got := regexp.MustCompile(
					`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`).
					ReplaceAllString(messages[1], "UUID")
				got = regexp.MustCompile(`2000-01-01T00:00:0\d\.\d{3}Z`).ReplaceAllString(got, "TIMESTAMP")
				want := strings.NewReplacer("FIRST", first, "LAST", last, "ERROR", test.wantError).
					Replace(wantMessage)
				check.Is(t, cmp.Diff(decoded(t, want), decoded(t, got)), "")
				if got := run.Stats(); got.Failed != 2 || got.Retries != 1 || got.Waiting != 0 ||
					got.Delivered != 0 {
					t.Errorf("stats = %+v", got)
				}
			})
		})
	}
}

func TestFailureMessageWithoutAnInvocation(t *testing.T) {
	b := &batch{records: numbered(5, 5), condition: ageExceeded}
	message := failureOf(b, "arn:aws:lambda:x:1:function:f", "s", "shard", start)
	var got map[string]json.RawMessage
	check.OK(t, json.Unmarshal(message, &got))
	_, ok := got["responseContext"]
	check.That(t, !ok &&
		strings.Contains(string(message), `"approximateInvokeCount":0,"condition":"RecordAgeExceeded"`) &&
		strings.Contains(string(message), `"functionArn":"arn:aws:lambda:x:1:function:f"`),
		"message = %s", message)
}

func TestDisabledMapping(t *testing.T) {
	run := startRunner(t, newMemoryStream("a"), nil, func(m *template.Mapping, _ *Config) {
		m.Enabled = false
	})
	err := <-run.done
	check.That(t, err == nil && run.Idle(time.Now()), "Run = %v, idle %v", err, run.Idle(time.Now()))
}

func TestRunnerRenewsItsIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "1")
		stream.put("a", "2")
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.change(func() { stream.era++ })
		stream.put("a", "3")
		run.drain()
		stream.change(func() { stream.era++; stream.shard("a").trimmed = 3 })
		stream.put("a", "4")
		run.delivered(f, "1", "2", "3", "4")
	})
}

// A LATEST iterator must survive an error: another one would begin behind what was written in
// between. DynamoDB Local refuses LATEST on an empty shard.
func TestRunnerReadsFromLatestThroughErrors(t *testing.T) {
	for name, err := range map[string]error{
		"no network": errors.New("connection refused"), "refused": &types.TrimmedDataAccessException{},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream, f := newMemoryStream("a"), &function{t: t}
				stream.breaks("records", err)
				run := startRunner(t, stream, f.invoke, latest)
				bubble.Sleep(time.Second)
				stream.put("a", "1")
				stream.breaks("records", nil)
				run.delivered(f, "1")
			})
		})
	}
}

func TestRunnerBacksOffFromErrors(t *testing.T) {
	for _, op := range []string{"describe", "iterator", "records"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream, f := newMemoryStream("a"), &function{t: t}
				stream.put("a", "1")
				stream.breaks(op, &types.LimitExceededException{})
				run := startRunner(t, stream, f.invoke, nil)
				bubble.Sleep(time.Minute)
				calls := 0
				stream.change(func() { calls = stream.calls[op] })
				stream.breaks(op, nil)
				check.That(t, calls >= 10 && calls <= 20, "%d calls within a minute of errors", calls)
				run.delivered(f, "1")
			})
		})
	}
}

func TestRunnerPollsLittleWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		delivered := make(chan time.Time, 2)
		f.answer = func([]received) (string, string, error) {
			delivered <- time.Now()
			return "", "", nil
		}
		run := startRunner(t, stream, f.invoke, nil)
		bubble.Sleep(10 * time.Second)
		before := run.Stats().Polls
		bubble.Sleep(time.Minute)
		polls := run.Stats().Polls - before
		check.That(t, polls <= 240, "%d polls in an idle minute, at most 240 are expected", polls)

		// The first record is found within the idle interval, those that follow it quickly.
		written := time.Now()
		stream.put("a", "1")
		wait := (<-delivered).Sub(written)
		check.That(t, wait <= 250*time.Millisecond, "the first record waited %v", wait)
		written = time.Now()
		stream.put("a", "2")
		wait = (<-delivered).Sub(written)
		check.That(t, wait <= 50*time.Millisecond, "the record after it waited %v", wait)
		_ = run.end()
	})
}

func TestRunnerDoesNotReadAheadForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		for i := range 3 * readAhead {
			stream.put("a", fmt.Sprint(i%7))
		}
		open := make(chan struct{})
		f.answer = func([]received) (string, string, error) { <-open; return "", "", nil }
		run := startRunner(t, stream, f.invoke, nil)
		bubble.Sleep(time.Minute)
		read := run.Stats().Read
		check.That(t, read >= readAhead && read <= readAhead+2*pollLimit, "%d", read)
		close(open)
		run.drain()
		_ = run.end()
		check.Is(t, run.Stats().Delivered, 3*readAhead)
	})
}

// A record's age counts from when it was written, which DynamoDB Local tells to the minute only.
func TestRunnerDoesNotTakeFreshRecordsForOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "old") // at 00:00:00
		bubble.Sleep(59*time.Minute + 59*time.Second)
		calls := 0
		f.answer = func([]received) (string, string, error) {
			calls++
			if calls < 4 {
				bubble.Sleep(2 * time.Second)
				return "", "", errors.New("throttled")
			}
			return "", "", nil
		}
		run := startRunner(t, stream, f.invoke, func(m *template.Mapping, _ *Config) {
			m.MaxRecordAge = time.Minute
		})
		run.drain()
		stream.put("a", "fresh")
		fresh := stream.shard("a").records[1].Dynamodb
		fresh.ApproximateCreationDateTime = aws.Time(
			fresh.ApproximateCreationDateTime.Truncate(time.Minute))
		run.drain()
		_ = run.end()
		got := slices.Compact(f.keys())
		check.That(t, slices.Equal(got, []string{"fresh"}) && run.Stats().Failed == 1,
			"delivered %v, stats %+v", got, run.Stats())
	})
}

func TestRunnerStartsAtLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("closed", "parent", "open"), &function{t: t}
		stream.put("closed", "old")
		stream.split("closed")
		stream.put("parent", "old")
		stream.split("parent", "first")
		stream.put("first", "old")
		stream.put("open", "old")
		run := startRunner(t, stream, f.invoke, latest)
		run.drain()
		stream.put("open", "new")
		stream.split("open", "child")
		stream.put("child", "newer") // before the child is known
		run.drain()
		stream.put("first", "newest")
		run.delivered(f, "new", "newer", "newest")
	})
}

func TestRunnerForgetsTrimmedShards(t *testing.T) {
	tree := shardTree{}
	shard := func(id, parent string) types.Shard {
		return types.Shard{ShardId: &id, ParentShardId: aws.String(parent)}
	}
	tree.see([]types.Shard{shard("a", "trimmed"), shard("b", "a")}, "TRIM_HORIZON")
	got := tree.start()
	check.Need(t, len(got) == 1 && got[0].id == "a", "started %v, want a", got)
	got = tree.start()
	check.Is(t, len(got), 0, got)
	tree["a"].state = shardDone
	tree.see([]types.Shard{shard("b", "a")}, "TRIM_HORIZON")
	check.That(t, tree["a"] == nil, "a is still known")
	got = tree.start()
	check.That(t, len(got) == 1 && got[0].id == "b", "started %v, want b", got)
}

// A stream that is being made has no shards yet; they do not take long.
func TestRunnerAwaitsTheFirstShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream(), &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		since := time.Now()
		bubble.Sleep(time.Minute)
		check.That(t, !run.Idle(since), "idle without a shard")
		stream.change(func() { stream.shards = []*memoryShard{{id: "a"}} })
		stream.put("a", "1")
		bubble.Sleep(time.Second)
		check.Is(t, cmp.Diff([]string{"1"}, f.keys()), "")
		_ = run.end()
	})
}

// A closed shard may have children that nobody has seen.
func TestRunnerIsNotIdleBeforeItKnowsTheChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.breaks("describe", errors.New("connection refused"))
		stream.split("a", "b")
		stream.put("b", "1")
		since := time.Now()
		bubble.Sleep(3 * time.Second)
		check.That(t, !run.Idle(since), "idle while the child is not known")
		stream.breaks("describe", nil)
		run.delivered(f, "1")
	})
}

// A shard that is trimmed as a whole has nothing more to give, and its child must not wait for it.
func TestRunnerGoesOnBehindAShardThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "1")
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.split("a", "b")
		stream.put("b", "2")
		stream.change(func() { stream.shards = stream.shards[1:] })
		run.delivered(f, "1", "2")
	})
}

func TestRunnerEndsWithItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "1")
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.change(func() { stream.gone = true })
		err := <-run.done
		check.Need(t, isNotFound(err), "Run = %v", err)
		check.That(t, strings.Contains(err.Error(), `"M"`), "Run = %v", err)
		check.Is(t, cmp.Diff([]string{"1"}, f.keys()), "")
	})
}
