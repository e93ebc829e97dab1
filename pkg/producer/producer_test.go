package producer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/producer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is what a request has of one.
type message struct {
	Queue string
	Seq   *int64
	ID    string
	Body  json.RawMessage
	raw   string
}

// name is the message in a word.
func (m message) name() string {
	if m.Seq != nil {
		return fmt.Sprintf("%s%d", m.Queue, *m.Seq)
	}
	return m.Queue + m.ID
}

// api answers requests as answer says, which has each request's messages; nil accepts all.
type api struct {
	answer func(ctx context.Context, n int, messages []message) (producer.Answer, error)

	mu       sync.Mutex
	requests [][]message
	at       []time.Time
	busy     map[string]bool
	beside   bool // two requests of a queue were under way side by side
	most     int  // requests that were
	now      int
}

func (a *api) Put(ctx context.Context, body []byte) (producer.Answer, error) {
	var request struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(body, &request); err != nil {
		return producer.Answer{}, err
	}
	messages := make([]message, len(request.Messages))
	for i, raw := range request.Messages {
		if err := json.Unmarshal(raw, &messages[i]); err != nil {
			return producer.Answer{}, err
		}
		messages[i].raw = string(raw)
	}
	a.mu.Lock()
	n := len(a.requests)
	a.requests, a.at = append(a.requests, messages), append(a.at, time.Now())
	if a.busy == nil {
		a.busy = map[string]bool{}
	}
	queues := map[string]bool{}
	for _, m := range messages {
		a.beside = a.beside || a.busy[m.Queue]
		queues[m.Queue] = true
	}
	for q := range queues {
		a.busy[q] = true
	}
	a.now++
	a.most = max(a.most, a.now)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now--
		for q := range queues {
			delete(a.busy, q)
		}
	}()
	if a.answer != nil {
		return a.answer(ctx, n, messages)
	}
	return accept(messages)
}

// sent are the names of the messages of each request.
func (a *api) sent() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, messages := range a.requests {
		var names []string
		for _, m := range messages {
			names = append(names, m.name())
		}
		all = append(all, strings.Join(names, " "))
	}
	return all
}

// accept is the answer that all are stored.
func accept(messages []message) (producer.Answer, error) {
	return say(messages, func(message) string { return `{"status":200,"outcome":"advanced"}` })
}

// say is the answer that has a result for each message.
func say(messages []message, of func(message) string) (producer.Answer, error) {
	var results []string
	for _, m := range messages {
		results = append(results, of(m))
	}
	return producer.Answer{Status: 200, Body: []byte(`{"status":200,"results":[` + strings.Join(results, ",") + `]}`)}, nil
}

// problem is an answer to a request as a whole.
func problem(status int, more string) (producer.Answer, error) {
	return producer.Answer{Status: status, Body: fmt.Appendf(nil, `{"status":%d,"detail":"why"%s}`, status, more)}, nil
}

func newProducer(t *testing.T, a producer.Transport, o *producer.Options) *producer.Producer {
	t.Helper()
	p := check.Get(producer.New(a, o))
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// numbered is a message of a numbered queue.
func numbered(queue string, seq int64) producer.Message {
	return producer.Message{Queue: queue, Seq: &seq, Body: []byte(`{"n":1}`)}
}

func send(t *testing.T, p *producer.Producer, messages ...producer.Message) []*producer.Future {
	t.Helper()
	var futures []*producer.Future
	for _, m := range messages {
		f := check.Get(p.Send(t.Context(), m))
		futures = append(futures, f)
	}
	return futures
}

func want(t *testing.T, a *api, requests ...string) {
	t.Helper()
	got := a.sent()
	check.That(t, slices.Equal(got, requests), "requests %q, want %q", got, requests)
	check.That(t, !a.beside, "two requests of a queue were under way side by side")
}

// outcomes are those of futures, in words.
func outcomes(t *testing.T, futures []*producer.Future) string {
	t.Helper()
	var all []string
	for _, f := range futures {
		r, err := f.Wait(t.Context())
		var refused *producer.RefusedError
		switch {
		case errors.As(err, &refused):
			all = append(all, fmt.Sprint(refused.Status, refused.Field))
		case err != nil:
			all = append(all, err.Error())
		default:
			all = append(all, string(r.Outcome))
		}
	}
	return strings.Join(all, " ")
}

// TestBadMessages: each is refused by Send, and names the field.
func TestBadMessages(t *testing.T) {
	p := newProducer(t, &api{}, nil)
	seq := int64(-1)
	for field, m := range map[string]producer.Message{
		"queue":       {},
		"seq":         {Queue: "q", Seq: &seq},
		"id":          {Queue: "q", Key: []byte(`1`)},
		"key":         {Queue: "q", ID: "i", Key: []byte(`{`)},
		"key (clash)": {Queue: "q", ID: "i", Key: []byte(`1`), Seq: new(int64(1))},
		"key (large)": {Queue: "q", ID: "i", Key: []byte(`"` + strings.Repeat("x", 8<<10) + `"`)},
		"keyType":     {Queue: "q", KeyType: "time"},
		"prev":        {Queue: "q", Prev: "i"},
		"body":        {Queue: "q", Body: make([]byte, 351<<10)},
		"contentType": {Queue: "q", ContentType: "\xff"},
		"attributes":  {Queue: "q", Attributes: map[string]string{"": "x"}},
		"traceparent": {Queue: "q", Traceparent: "00-1-2"},
		"tracestate":  {Queue: "q", Tracestate: "a=b"},
	} {
		_, err := p.Send(t.Context(), m)
		var wrong *invalid.Error
		field, _, _ := strings.Cut(field, " ")
		check.That(t, errors.As(err, &wrong) && wrong.Field == field, "%s: %v", field, err)
	}
}

// TestBadOptions: each is refused, with its bounds.
func TestBadOptions(t *testing.T) {
	for field, o := range map[string]producer.Options{
		"Linger":         {Linger: time.Hour},
		"Batch":          {Batch: 24},
		"RequestBytes":   {RequestBytes: 5 << 20},
		"Requests":       {Requests: 1},
		"RequestTimeout": {RequestTimeout: time.Millisecond},
		"MinBackOff":     {MinBackOff: -1},
		"MaxBackOff":     {MinBackOff: time.Minute, MaxBackOff: time.Second},
		"GiveUpAfter":    {GiveUpAfter: -1},
		"MaxBytes":       {MaxBytes: 1},
		"QueueBytes":     {QueueBytes: 33 << 20},
	} {
		_, err := producer.New(&api{}, &o)
		check.That(t, err != nil && strings.HasPrefix(err.Error(), field+" "), "%s: %v", field, err)
	}
}
