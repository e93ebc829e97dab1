//go:build whole

package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// How the latency is measured.
const (
	latencyWarmUp = 50
	latencyPuts   = 500
)

// eagerConsumers are one that waits for the stream, and one that is eager.
const eagerConsumers = `{"consumers":[
	{"name":"streamed","prefix":"streamed","sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:000000000000:function:streamsort-receiver"}},
	{"name":"eager","prefix":"eager","eager":true,"sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:000000000000:function:streamsort-receiver"}}]}`

// BenchmarkLatency measures how long one message takes from its put, over HTTP, to the call of the
// function that process delivers it to, all processes warm, and where the time goes: by the stream,
// and by an eager call beside it.
func BenchmarkLatency(b *testing.B) {
	m := &measured{b, figures.Table{
		Title: "From a put to its sink",
		About: fmt.Sprintf("%d single messages through the whole local stack, to a consumer behind the stream, and in turn to an eager one; median, and p99. "+
			"The limit is that of the requests that must follow each other. These are not AWS's times.",
			latencyPuts), Case: "what",
	}}
	watch := &firstLook{transport: front.Transport()}
	w := check.Get(trial.New(b.Output()))
	defer w.End()
	w.Start(b.Context(), trial.Setup{
		Templates: []string{"examples/demo/streamsort.patch.json",
			"examples/receiver/receiver.template.json"},
		Through: watch, Kind: localdb.Choose(),
		Config: localstack.Config{Env: map[string]string{
			"SweepFunction.STREAMSORT_EVENT_BUS":        "",
			"ProcessFunction.STREAMSORT_CONSUMERS":      eagerConsumers,
			"EnqueueFunction.STREAMSORT_READERS":        eagerConsumers,
			"EnqueueFunction.STREAMSORT_EAGER_FUNCTION": "ProcessFunction",
		}},
	})
	called := make(chan time.Time, 1)
	defer w.Stack.Subscribe(func(l localstack.Line) {
		if l.LogicalID == "ReceiverFunction" &&
			bytes.Contains([]byte(l.Text), []byte(`"message":"batch"`)) {
			called <- time.Now()
		}
	})()
	api, store := w.Sender.Client, freshStore(b, w.Stack.DynamoDB())
	var streamed, eager []journey
	for seq := 1; seq <= latencyWarmUp+latencyPuts; seq++ {
		wrote, read := bareRequests(b, store, int64(seq))
		s, e := travel(b, api, "streamed", seq, watch, called),
			travel(b, api, "eager", seq, watch, called)
		if s.wrote, s.read = wrote, read; seq > latencyWarmUp {
			streamed, eager = append(streamed, s), append(eager, e)
		}
	}
	write := middle(streamed, func(j journey) time.Duration { return j.wrote })
	read := middle(streamed, func(j journey) time.Duration { return j.read })
	put, deliver := middle(streamed, journey.put), middle(streamed, journey.deliver)
	const streams = "the local stack asks its streams every 50 ms, and every 250 ms where nothing came. AWS asks 4 times a second, by its documentation"
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
		half, p99 := middle(step.of, step.took), percentile(times(step.of, step.took), 99)
		r := figures.Row{Name: step.name, Ours: fmt.Sprintf("%.1f ms, p99 %.1f ms", half, p99),
			Why: step.why}
		if step.limit > 0 {
			r.Limit, r.Ratio = fmt.Sprintf("%.1f ms", step.limit), half/step.limit
		}
		m.row(r, half, "ms")
	}
	m.end("latency")
}

func times(of []journey, took func(journey) time.Duration) (all []time.Duration) {
	for _, j := range of {
		all = append(all, took(j))
	}
	return all
}

// middle is the median of some times, in milliseconds.
func middle(of []journey, took func(journey) time.Duration) float64 {
	return median(times(of, took))
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

// bareRequests are a conditional put and a strong read, after a first one that wakes all that is in
// the way.
func bareRequests(b *testing.B, store *cursor.Store, seq int64) (wrote, read time.Duration) {
	b.Helper()
	requests := store.Requests(queuelog.Inside{})
	var began time.Time
	for n := range int64(2) {
		began = time.Now()
		_, err := requests.PutMessage(b.Context(), bareMessage(2*seq+n))
		check.OK(b, err)
	}
	written := time.Now()
	_, err := requests.Cursor(b.Context(), "one", true)
	check.OK(b, err)
	return written.Sub(began), time.Since(written)
}

// travel puts one message, and waits until the sink has been called with it. Its commit may come
// later: the next message is of another queue, so that it is taken for nothing of that one.
func travel(b *testing.B, api *client.Client, queue string, seq int, watch *firstLook,
	called <-chan time.Time) journey {
	b.Helper()
	message := fmt.Appendf(nil, `{"queue":%q,"seq":%d,"body":"%-98d"}`, queue, seq, seq)
	watch.reset(queue)
	j := journey{sent: time.Now()}
	_, err := api.Put(b.Context(), []json.RawMessage{message})
	check.OK(b, err)
	j.answered = time.Now()
	j.called = <-called
	j.looked = watch.at()
	return j
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
