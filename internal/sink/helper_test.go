package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// batchOf is a batch of messages with these bodies, from seq 1 on.
func batchOf(queue string, bodies ...string) handoff.Batch {
	b := handoff.Batch{
		Queue: queue, Consumer: "c", Token: handoff.Token{N: 7, Req: "req"}, To: int64(len(bodies)), Attempt: 1,
	}
	for i, body := range bodies {
		b.Messages = append(b.Messages, cursor.Message{
			Queue: queue, Seq: int64(i + 1), Body: []byte(body), EnqueuedAt: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
		})
	}
	return b
}

// bodies are n short bodies, each its own.
func bodies(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"n":%d}`, i+1)
	}
	return all
}

// newSink is a sink whose environment names the endpoint.
func newSink(t *testing.T, config Config, endpoint string, options *Options) Sink {
	t.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL_LAMBDA", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SNS", "AWS_ENDPOINT_URL_EVENTBRIDGE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ENDPOINT_URL", endpoint)
	s, err := New(config, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	return v
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// tracked is the batch with edges of this chain.
func tracked(b handoff.Batch, tag string) handoff.Batch {
	b.Edges = nil
	for i := range b.Messages {
		b.Edges = append(b.Edges, xorack.Root(tag, "", i))
	}
	return b
}
