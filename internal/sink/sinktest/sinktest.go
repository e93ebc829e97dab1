// Package sinktest is what the tests of each kind of sink need: batches, and sinks that are opened
// as their configuration says.
package sinktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Batch is a batch of messages with these bodies, from seq 1 on.
func Batch(queue string, bodies ...string) delivery.Batch {
	b := delivery.Batch{
		Queue: queue, Consumer: "c", Token: delivery.Token{N: 7, Req: "req"},
		To: int64(len(bodies)), Attempt: 1,
	}
	for i, body := range bodies {
		b.Messages = append(b.Messages, cursor.Message{
			Queue: queue, Seq: int64(i + 1), Body: []byte(body),
			EnqueuedAt: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
		})
	}
	return b
}

// Bodies are n short bodies, each its own.
func Bodies(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"n":%d}`, i+1)
	}
	return all
}

// Tracked is the batch with edges of this chain.
func Tracked(b delivery.Batch, tag string) delivery.Batch {
	b.Edges = nil
	for i := range b.Messages {
		b.Edges = append(b.Edges, xorack.Root(tag, "", i))
	}
	return b
}

// Environment names the endpoint of every service.
func Environment(t *testing.T, endpoint string) {
	t.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL_LAMBDA", "AWS_ENDPOINT_URL_SQS",
		"AWS_ENDPOINT_URL_SNS", "AWS_ENDPOINT_URL_EVENTBRIDGE", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ENDPOINT_URL", endpoint)
}

// Open opens the sink of a kind whose configuration has the ARN alone, at an endpoint.
func Open(t *testing.T, of kind.Kind, arn, endpoint string) kind.Sink {
	t.Helper()
	Environment(t, endpoint)
	settings, err := of.Read(fmt.Appendf(nil, `{"arn":%q}`, arn))
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.Open(kind.Options{Transport: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Transport answers requests without a network.
type Transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f Transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Decode reads JSON.
func Decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	return v
}

// Within is a context that ends so long from now.
func Within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
