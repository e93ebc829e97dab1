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
	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// How the latency is measured.
const (
	latencyWarmUp = 50
	latencyPuts   = 500
	// latencyPatience is how long one message may take.
	latencyPatience = 10 * time.Second
	// latencyCommit is how long its commit may come after that; it may also have come before the call was seen.
	latencyCommit = 30 * time.Millisecond
)

// latency measures how long one message takes from its put, over HTTP, to the
// call of the function that process delivers it to, all processes warm, and
// where the time goes.
func latency(ctx context.Context, root string) (figures.Measured, error) {
	m := figures.Measured{
		Title: "From a put to its sink",
		About: fmt.Sprintf("%d messages one by one through the whole local stack; median, and p99. The limit is that of requests that must follow each other: two bare conditional puts to the same server, and one with a bare read. "+
			"These are not AWS's times; the table shows whether anything waits here that need not.", latencyPuts),
		Case: "what",
	}
	watch := &firstLook{transport: front.Transport()}
	server, err := front.Start(ctx, localdb.Choose(), "", watch)
	if err != nil {
		return m, err
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
		return m, err
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
		return m, err
	}
	store, err := freshStore(ctx, server.URL)
	if err != nil {
		return m, err
	}
	var taken []journey
	for seq := 1; seq <= latencyWarmUp+latencyPuts; seq++ {
		wrote, read, err := bareRequests(ctx, store, seq)
		if err != nil {
			return m, err
		}
		j, err := travel(ctx, api, seq, watch, called)
		if err != nil {
			return m, err
		}
		if j.wrote, j.read = wrote, read; seq > latencyWarmUp {
			taken = append(taken, j)
		}
	}
	percentiles := func(of func(journey) time.Duration) (median, p99 float64) {
		sorted := make([]time.Duration, len(taken))
		for i, j := range taken {
			sorted[i] = of(j)
		}
		slices.Sort(sorted)
		return ms(sorted[len(sorted)/2]), ms(sorted[len(sorted)*99/100])
	}
	write, _ := percentiles(func(j journey) time.Duration { return j.wrote })
	read, _ := percentiles(func(j journey) time.Duration { return j.read })
	const streams = "the local stack asks its streams every 50 ms, and every 250 ms where nothing came; AWS does so 4 times a second, by its documentation"
	for _, step := range []struct {
		name string
		// limit is what the requests take that must follow each other; 0 where what is waited for is none.
		limit float64
		of    func(journey) time.Duration
		why   string
	}{
		{"put answered", 2 * write, func(j journey) time.Duration { return j.answered.Sub(j.sent) }, "a call is signed, checked, and an invocation of a function besides"},
		{"put, move, stream, process called", 0, func(j journey) time.Duration { return j.looked.Sub(j.sent) }, streams},
		{"claim, read, sink called", write + read, func(j journey) time.Duration { return j.called.Sub(j.looked) }, "the sink is a function too: it is invoked, and its line is read from its log"},
		{"whole", 0, func(j journey) time.Duration { return j.called.Sub(j.sent) }, streams},
	} {
		median, p99 := percentiles(step.of)
		r := figures.MeasuredRow{Name: step.name, Ours: fmt.Sprintf("%.1f ms, p99 %.1f ms", median, p99), Why: step.why}
		if step.limit > 0 {
			r.Limit, r.Ratio = fmt.Sprintf("%.1f ms", step.limit), median/step.limit
		}
		m.Rows = append(m.Rows, r)
	}
	return m, nil
}

// journey are the times of one message, and how long the bare requests before it took.
type journey struct {
	sent, answered, looked, called time.Time
	wrote, read                    time.Duration
}

// bareRequests are a conditional put and a strong read, after a first one that wakes all that is in the way.
func bareRequests(ctx context.Context, store *cursor.Store, seq int) (wrote, read time.Duration, err error) {
	if _, err := store.Requests(queuelog.Inside{}).PutMessage(ctx, bareMessage(2*seq)); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if _, err := store.Requests(queuelog.Inside{}).PutMessage(ctx, bareMessage(2*seq+1)); err != nil {
		return 0, 0, err
	}
	written := time.Now()
	_, err = store.Requests(queuelog.Inside{}).Cursor(ctx, "one", true)
	return written.Sub(began), time.Since(written), err
}

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
	// Its commit belongs to no other message.
	watch.reset()
	for until := time.Now().Add(latencyCommit); watch.at().IsZero() && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
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
