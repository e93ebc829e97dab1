package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/localstack"
)

// How the latency is measured.
const (
	latencyWarmUp = 50
	latencyPuts   = 500
	// latencyPatience is how long one message may take.
	latencyPatience = 10 * time.Second
)

// latency prints how long one message takes from its put, over HTTP, to the
// call of the function that process delivers it to, all processes warm, and
// where the time goes.
func latency(ctx context.Context, out io.Writer, root string) error {
	fmt.Fprintf(out, "==> %d messages one by one on the local stack, from the put to the sink called\n", latencyPuts)
	watch := &firstLook{transport: front.Transport()}
	server, err := front.Start(ctx, localdb.Choose(), "", watch)
	if err != nil {
		return err
	}
	defer server.Close()
	stack, err := localstack.Run(ctx, localstack.Config{
		Templates: []string{
			filepath.Join(root, "examples", "demo", "streamsort.patch.json"),
			filepath.Join(root, "examples", "receiver", "receiver.template.json"),
		},
		Env:    map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Server: server.URL, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer stack.Close()
	called := make(chan time.Time, 1)
	defer stack.Subscribe(func(l localstack.Line) {
		if l.LogicalID == "ReceiverFunction" && bytes.Contains([]byte(l.Text), []byte(`"message":"batch"`)) {
			called <- time.Now()
		}
	})()
	api, err := client.New(stack.URL())
	if err != nil {
		return err
	}
	var taken []journey
	for seq := 1; seq <= latencyWarmUp+latencyPuts; seq++ {
		j, err := travel(ctx, api, seq, watch, called)
		if err != nil {
			return err
		}
		if seq > latencyWarmUp {
			taken = append(taken, j)
		}
	}
	for _, step := range []struct {
		name string
		of   func(journey) time.Duration
	}{
		{"put, move, stream, process called", func(j journey) time.Duration { return j.looked.Sub(j.sent) }},
		{"claim, read, sink called", func(j journey) time.Duration { return j.called.Sub(j.looked) }},
		{"whole", func(j journey) time.Duration { return j.called.Sub(j.sent) }},
		{"beside: put answered", func(j journey) time.Duration { return j.answered.Sub(j.sent) }},
	} {
		sorted := make([]time.Duration, len(taken))
		for i, j := range taken {
			sorted[i] = step.of(j)
		}
		slices.Sort(sorted)
		fmt.Fprintf(out, "    %-34s median %6.1f ms, p99 %6.1f ms\n", step.name,
			sorted[len(sorted)/2].Seconds()*1000, sorted[len(sorted)*99/100].Seconds()*1000)
	}
	return nil
}

// journey are the times of one message.
type journey struct{ sent, answered, looked, called time.Time }

// travel puts one message, and waits until the sink has been called with it.
func travel(ctx context.Context, api *client.Client, seq int, watch *firstLook, called <-chan time.Time) (journey, error) {
	message := fmt.Appendf(nil, `{"queue":"latency","seq":%d,"body":"%-98d"}`, seq, seq)
	watch.reset()
	j := journey{sent: time.Now()}
	if _, err := api.Put(ctx, []json.RawMessage{message}); err != nil {
		return j, err
	}
	j.answered = time.Now()
	select {
	case j.called = <-called:
	case <-time.After(latencyPatience):
		return j, fmt.Errorf("message %d did not reach the sink within %v", seq, latencyPatience)
	}
	j.looked = watch.at()
	return j, nil
}

// firstLook notes when the consumers table was first asked for something.
type firstLook struct {
	transport http.RoundTripper
	mu        sync.Mutex
	first     time.Time
}

func (f *firstLook) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = time.Time{}
}

func (f *firstLook) at() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// RoundTrip implements http.RoundTripper.
func (f *firstLook) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(body, []byte("streamsort-consumers")) {
		f.mu.Lock()
		if f.first.IsZero() {
			f.first = time.Now()
		}
		f.mu.Unlock()
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return f.transport.RoundTrip(again)
}
