package producer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/producer"
	"github.com/streamsort/streamsort/pkg/producer/producertest"
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

// api answers requests as answer says, which has each request's messages, or with what each says of
// a message; without them it accepts all.
type api struct {
	answer func(ctx context.Context, n int, messages []message) (producer.Answer, error)
	each   func(n int, m message) string

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
	switch {
	case a.answer != nil:
		return a.answer(ctx, n, messages)
	case a.each != nil:
		return say(messages, func(m message) string { return a.each(n, m) })
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

const stored = `{"status":200,"outcome":"advanced"}`

// accept is the answer that all are stored.
func accept(messages []message) (producer.Answer, error) {
	return say(messages, func(message) string { return stored })
}

// inASecond is an answer that they are, a second later.
func inASecond(_ context.Context, _ int, messages []message) (producer.Answer, error) {
	bubble.Sleep(time.Second)
	return accept(messages)
}

// say is the answer that has a result for each message.
func say(messages []message, of func(message) string) (producer.Answer, error) {
	var results []string
	for _, m := range messages {
		results = append(results, of(m))
	}
	return producer.Answer{Status: 200,
		Body: []byte(`{"status":200,"results":[` + strings.Join(results, ",") + `]}`)}, nil
}

// problem is an answer to a request as a whole.
func problem(status int, more string) (producer.Answer, error) {
	return producer.Answer{Status: status,
		Body: fmt.Appendf(nil, `{"status":%d,"detail":"why"%s}`, status, more)}, nil
}

func newProducer(t *testing.T, a producer.Transport, o *producer.Options) *producer.Producer {
	t.Helper()
	p := check.Get(producer.New(a, o))
	t.Cleanup(func() { _ = p.Close(t.Context()) }) // the context has ended by then
	return p
}

func numbered(queue string, seq int64) producer.Message {
	return producer.Message{Queue: queue, Seq: &seq, Body: []byte(`{"n":1}`)}
}

// large is one of more than 300 KB.
func large(queue string, seq int64) producer.Message { return sized(queue, seq, 340<<10) }

func sized(queue string, seq int64, size int) producer.Message {
	m := numbered(queue, seq)
	m.Body = []byte(`"` + strings.Repeat("x", size) + `"`)
	return m
}

func send(t *testing.T, p *producer.Producer, messages ...producer.Message) []*producer.Future {
	t.Helper()
	var futures []*producer.Future
	for _, m := range messages {
		futures = append(futures, check.Get(p.Send(t.Context(), m)))
	}
	return futures
}

// sendAll sends messages of a queue, from first to before end.
func sendAll(t *testing.T, p *producer.Producer, queue string, first, end int64) (
	futures []*producer.Future) {
	t.Helper()
	for seq := first; seq < end; seq++ {
		futures = append(futures, send(t, p, numbered(queue, seq))...)
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
		field, _, _ := strings.Cut(field, " ")
		check.Is(t, check.As[*invalid.Error](t, err).Field, field, err)
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

// TestGiveUp: a message is tried for GiveUpAfter, and then no more, whether the API fails or is
// full.
func TestGiveUp(t *testing.T) {
	for name, result := range map[string]string{"fails": `{"status":503}`,
		"full": `{"status":429,"outcome":"full"}`} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{each: func(_ int, _ message) string { return result }}
			p := newProducer(t, a, &producer.Options{GiveUpAfter: time.Minute})
			began := time.Now()
			over, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err := send(t, p, numbered("a", 1))[0].Wait(over)
			took, tries := time.Since(began), len(a.sent())
			want := fmt.Sprintf("given up after %d tries: ", tries)
			check.That(t, errors.Is(err, producer.ErrGaveUp) && strings.HasPrefix(err.Error(), want),
				"%s: %v, want %s", name, err, want)
			check.That(t, tries >= 8 && took >= time.Minute && took <= time.Minute+15*time.Second,
				"%s: %d tries in %v", name, tries, took)
			bubble.Sleep(time.Minute)
			more := len(a.sent()) - tries
			check.That(t, more <= 0, "%s: %d requests after the last try", name, more)
		})
	}
}

// away is an API that nobody answers for.
type away struct{}

func (away) Put(context.Context, []byte) (producer.Answer, error) {
	return producer.Answer{}, errors.New("no such host")
}

// TestComplains: a log says why requests are made again, once a minute.
func TestComplains(t *testing.T) {
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		p := newProducer(t, away{}, &producer.Options{GiveUpAfter: 150 * time.Second})
		_, err := send(t, p, numbered("a", 1))[0].Wait(t.Context())
		check.Fails(t, err, producer.ErrGaveUp)
	})
	check.Is(t, strings.Count(log.String(), "no such host"), 3, log.String())
}

// TestClose: what is there is sent at once, nothing more is taken, and a caller that waits for room
// gets an error.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: inASecond}
		p := newProducer(t, a, &producer.Options{Linger: time.Minute, MaxBytes: 2 << 20})
		futures := send(t, p, numbered("a", 1), numbered("b", 1))
		futures = append(futures, send(t, p, large("a", 2), large("a", 3), large("a", 4))...)
		waits := make(chan error)
		go func() { _, err := p.Send(t.Context(), large("a", 5)); waits <- err }()
		synctest.Wait()
		go func() { waits <- p.Close(t.Context()) }()
		check.Fails(t, <-waits, producer.ErrClosed)
		check.OK(t, <-waits)
		check.Is(t, outcomes(t, futures), "advanced advanced advanced advanced advanced")
		check.Fails(t, check.Err(p.Send(t.Context(), numbered("a", 2))), producer.ErrClosed)
	})
}

// TestFlushIsForWhatCameBefore, also for what an earlier Flush did not wait for to its end; what
// comes later does not hold it up.
func TestFlushIsForWhatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: inASecond}
		p := newProducer(t, a, &producer.Options{Linger: time.Minute})
		send(t, p, numbered("a", 1))
		began := time.Now()
		go func() {
			bubble.Sleep(time.Millisecond)
			_, _ = p.Send(context.Background(), numbered("b", 1))
		}()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		check.Fails(t, p.Flush(over), context.Canceled)
		if err := p.Flush(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		check.Is(t, p.Stats().Messages, 1)
	})
}

// TestCloseGivesBack: at the end of its context, Close gives back each message without an outcome:
// the ones in a request, behind it and set aside. A Send that waits for room returns at once.
func TestCloseGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(ctx context.Context, _ int, m []message) (producer.Answer, error) {
			if m[0].Queue == "full" {
				return say(m, func(message) string { return `{"status":429,"outcome":"full"}` })
			}
			<-ctx.Done()
			return producer.Answer{}, ctx.Err()
		}}
		p := newProducer(t, a, &producer.Options{MaxBytes: 2 << 20, GiveUpAfter: time.Second,
			MinBackOff: time.Hour})
		futures := send(t, p, numbered("full", 1), large("hangs", 1))
		bubble.Sleep(100 * time.Millisecond) // they are set aside, and in a request
		futures = append(futures, send(t, p, large("hangs", 2), large("hangs", 3))...)
		began := time.Now()
		go func() {
			_, err := p.Send(t.Context(), large("hangs", 4))
			check.That(t, errors.Is(err, producer.ErrClosed) && time.Since(began) <= 0,
				"who waits for room: %v after %v", err, time.Since(began))
		}()
		synctest.Wait()
		over, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := p.Close(over)
		check.That(t, errors.Is(err, context.DeadlineExceeded) && time.Since(began) == 2*time.Second,
			"close: %v after %v", err, time.Since(began))
		for i, f := range futures {
			check.Fails(t, check.Err(f.Wait(t.Context())), producer.ErrClosed, i)
		}
		s := p.Stats()
		check.That(t, s.Messages == 0 && s.Bytes == 0, "%+v", s)
	})
}

// last accepts requests of one message, and has the last one.
type last struct{ body string }

func (l *last) Put(_ context.Context, body []byte) (producer.Answer, error) {
	l.body = string(body)
	return accept(make([]message, 1))
}

// TestDocument: each message goes as docs/openapi.yaml has it, with all that it was given.
func TestDocument(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for want, m := range map[string]producer.Message{
		`{"queue":"q","seq":7,"body":{"a": 1}}`:           {Queue: "q", Seq: new(int64(7)), Body: []byte(`{"a": 1}`)},
		`{"queue":"q","seq":9007199254740992,"body":1}`:   {Queue: "q", Seq: new(int64(1 << 53)), Body: []byte(`1`)},
		`{"queue":"q","seq":"9007199254740993","body":1}`: {Queue: "q", Seq: new(int64(1<<53 + 1)), Body: []byte(`1`)},
		`{"queue":"q","seq":7,"kind":"arrival","body":1}`: {Queue: "q", Seq: new(int64(7)), Kind: "arrival", Body: []byte(`1`)},
		`{"queue":"q","key":["a",1],"keyType":"text,number","prev":"p","id":"i","body":1}`: {
			Queue: "q", Key: []byte(`["a",1]`), KeyType: "text,number", Prev: "p", ID: "i", Body: []byte(`1`),
		},
		`{"queue":"q","id":"i","contentType":"text/plain","traceparent":"` + trace +
			`","tracestate":"v=1","attributes":{"k":"\"\u0001"},"bodyBase64":"MQ=="}`: {
			Queue: "q", ID: "i", ContentType: "text/plain", Traceparent: trace, Tracestate: "v=1", Attributes: map[string]string{"k": "\"\x01"}, Body: []byte(`1`),
		},
	} {
		a := &last{}
		outcomes(t, send(t, newProducer(t, a, nil), m))
		want = `{"messages":[` + want + `]}`
		check.That(t, a.body == want, "%s, want %s", a.body, want)
	}
}

// TestTransports: who asks is said as each says it; a token that cannot be had, and a 401, are
// waited out.
func TestTransports(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-central-1")
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if strings.HasSuffix(r.Header.Get("Authorization"), " old") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"status":200,"results":[{"status":200,"outcome":"advanced"}]}`))
	}))
	defer server.Close()
	tokens := []string{"", "old", "new"}
	token := func(context.Context) (string, error) {
		now := tokens[0]
		tokens = tokens[1:]
		if now == "" {
			return "", errors.New("the issuer is away")
		}
		return now, nil
	}
	for want, make := range map[string]func() (producer.Transport, error){
		"":                                 func() (producer.Transport, error) { return producer.HTTP(server.URL) },
		"AWS4-HMAC-SHA256 Credential=AKID": func() (producer.Transport, error) { return producer.Signed(server.URL, "") },
		"Bearer new":                       func() (producer.Transport, error) { return producer.WithToken(server.URL, token) },
	} {
		transport := check.Get(make())
		got = nil
		p := newProducer(t, transport, &producer.Options{MinBackOff: time.Millisecond})
		o := outcomes(t, send(t, p, numbered("a", 1)))
		check.That(t, o == "advanced" && strings.HasPrefix(got[len(got)-1], want) && (want != "" ||
			got[0] == ""), "%s by %q, want %q", o, got, want)
	}
	for name, make := range map[string]func() (producer.Transport, error){
		"no URL":        func() (producer.Transport, error) { return producer.HTTP("somewhere") },
		"plain, signed": func() (producer.Transport, error) { return producer.Signed("http://example.com", "") },
		"no function":   func() (producer.Transport, error) { return producer.Invoke("", "") },
	} {
		transport, err := make()
		check.That(t, err != nil && transport == nil, "%s: %v, %v", name, transport, err)
	}
}

// TestSuite: the cases that every producer is held to.
func TestSuite(t *testing.T) { producertest.Run(t, producertest.Own) }
