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

// eagerConsumers are one that waits for the stream, and one that is eager.
const eagerConsumers = `{"consumers":[
	{"name":"streamed","prefix":"streamed","sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:000000000000:function:streamsort-receiver"}},
	{"name":"eager","prefix":"eager","eager":true,"sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:000000000000:function:streamsort-receiver"}}]}`

// latency measures how long one message takes from its put, over HTTP, to the
// call of the function that process delivers it to, all processes warm, and
// where the time goes: by the stream, and by an eager call beside it.
func latency(ctx context.Context, root string) (figures.Measured, error) {
	m := figures.Measured{
		Title: "From a put to its sink",
		About: fmt.Sprintf("%d single messages through the whole local stack, to a consumer behind the stream, and in turn to an eager one; median, and p99. "+
			"The limit is that of the requests that must follow each other. These are not AWS's times.", latencyPuts),
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
		Env: map[string]string{
			"SweepFunction.STREAMSORT_EVENT_BUS":        "",
			"ProcessFunction.STREAMSORT_CONSUMERS":      eagerConsumers,
			"EnqueueFunction.STREAMSORT_READERS":        eagerConsumers,
			"EnqueueFunction.STREAMSORT_EAGER_FUNCTION": "ProcessFunction",
		},
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
	var streamed, eager []journey
	for seq := 1; seq <= latencyWarmUp+latencyPuts; seq++ {
		wrote, read, err := bareRequests(ctx, store, seq)
		if err != nil {
			return m, err
		}
		s, err := travel(ctx, api, "streamed", seq, watch, called)
		if err != nil {
			return m, err
		}
		e, err := travel(ctx, api, "eager", seq, watch, called)
		if err != nil {
			return m, err
		}
		if s.wrote, s.read = wrote, read; seq > latencyWarmUp {
			streamed, eager = append(streamed, s), append(eager, e)
		}
	}
	write, _ := percentiles(streamed, func(j journey) time.Duration { return j.wrote })
	read, _ := percentiles(streamed, func(j journey) time.Duration { return j.read })
	put, _ := percentiles(streamed, journey.put)
	deliver, _ := percentiles(streamed, journey.deliver)
	const streams = "the local stack asks its streams every 50 ms, and every 250 ms where nothing came; AWS does so 4 times a second, by its documentation"
	const calls = "Lambda is asked to call process before the put is answered, and the call is made when it has answered that"
	for _, step := range []struct {
		name string
		of   []journey
		// limit is what must follow each other; 0 where what is waited for is not known.
		limit float64
		took  func(journey) time.Duration
		why   string
	}{
		{"put answered", streamed, 2 * write, journey.put, "a call is signed, checked, and an invocation of a function besides"},
		{"put, move, stream, process called", streamed, 0, journey.reach, streams},
		{"claim, read, sink called", streamed, write + read, journey.deliver, "the sink is a function too: it is invoked, and its line is read from its log"},
		{"whole", streamed, 0, journey.whole, streams},
		{"eager: put answered", eager, put, journey.put, calls},
		{"eager: put, move, process called", eager, put, journey.reach, calls},
		{"eager: whole", eager, put + deliver, journey.whole, calls},
	} {
		median, p99 := percentiles(step.of, step.took)
		r := figures.MeasuredRow{Name: step.name, Ours: fmt.Sprintf("%.1f ms, p99 %.1f ms", median, p99), Why: step.why}
		if step.limit > 0 {
			r.Limit, r.Ratio = fmt.Sprintf("%.1f ms", step.limit), median/step.limit
		}
		m.Rows = append(m.Rows, r)
	}
	return m, nil
}

// percentiles are the median and the 99th of a hundred of some times, in milliseconds.
func percentiles(of []journey, took func(journey) time.Duration) (median, p99 float64) {
	sorted := make([]time.Duration, len(of))
	for i, j := range of {
		sorted[i] = took(j)
	}
	slices.Sort(sorted)
	return ms(sorted[len(sorted)/2]), ms(sorted[len(sorted)*99/100])
}

func (j journey) put() time.Duration     { return j.answered.Sub(j.sent) }
func (j journey) reach() time.Duration   { return j.looked.Sub(j.sent) }
func (j journey) deliver() time.Duration { return j.called.Sub(j.looked) }
func (j journey) whole() time.Duration   { return j.called.Sub(j.sent) }

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
func travel(ctx context.Context, api *client.Client, queue string, seq int, watch *firstLook, called <-chan time.Time) (journey, error) {
	message := fmt.Appendf(nil, `{"queue":%q,"seq":%d,"body":"%-98d"}`, queue, seq, seq)
	watch.reset(queue)
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
	watch.reset(queue)
	for until := time.Now().Add(latencyCommit); watch.at().IsZero() && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	return j, nil
}

// firstLook notes when the consumers table was first asked for something of a queue.
type firstLook struct {
	transport http.RoundTripper
	mu        sync.Mutex
	queue     string
	first     time.Time
}

func (f *firstLook) reset(queue string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue, f.first = queue, time.Time{}
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
		if f.first.IsZero() && bytes.Contains(body, []byte(`"`+f.queue+`"`)) {
			f.first = time.Now()
		}
		f.mu.Unlock()
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return f.transport.RoundTrip(again)
}
