package eventsource

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
