package producer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

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
	p, err := producer.New(a, o)
	if err != nil {
		t.Fatal(err)
	}
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
		f, err := p.Send(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		futures = append(futures, f)
	}
	return futures
}

func want(t *testing.T, a *api, requests ...string) {
	t.Helper()
	if got := a.sent(); !slices.Equal(got, requests) {
		t.Errorf("requests %q, want %q", got, requests)
	}
	if a.beside {
		t.Error("two requests of a queue were under way side by side")
	}
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

// TestLinger: what comes within the linger goes together, with what has waited for half of it.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		p := newProducer(t, a, nil)
		began := time.Now()
		send(t, p, numbered("a", 1))
		time.Sleep(4 * time.Millisecond)
		send(t, p, numbered("b", 1), numbered("a", 2))
		time.Sleep(2 * time.Millisecond)
		futures := send(t, p, numbered("c", 1))
		if got := outcomes(t, futures); got != "advanced" {
			t.Error(got)
		}
		want(t, a, "a1 a2 b1", "c1")
		if first, second := a.at[0].Sub(began), a.at[1].Sub(began); first != 10*time.Millisecond || second != 16*time.Millisecond {
			t.Errorf("sent after %v and %v", first, second)
		}
	})
}

// TestFullBatch: a full batch does not wait, and a queue's next one waits for its answer.
func TestFullBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			time.Sleep(time.Second)
			return accept(m)
		}}
		p := newProducer(t, a, &producer.Options{Batch: 25, Linger: time.Minute})
		began := time.Now()
		for seq := range int64(60) {
			send(t, p, numbered("a", seq))
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, r := range a.requests {
			sizes = append(sizes, len(r))
		}
		if took := time.Since(began); !slices.Equal(sizes, []int{25, 25, 10}) || took != 3*time.Second || a.beside {
			t.Errorf("batches of %v after %v, side by side: %t", sizes, took, a.beside)
		}
		synctest.Wait()
		if s := p.Stats(); s.Messages != 0 || s.Bytes != 0 || s.Queues != 0 || s.Requests != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestOneAtATime: what comes while a request of its queue is under way waits for its end, and another queue does not.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, n int, m []message) (producer.Answer, error) {
			if n == 0 {
				time.Sleep(time.Second)
			}
			return accept(m)
		}}
		p := newProducer(t, a, nil)
		futures := send(t, p, numbered("a", 1))
		time.Sleep(100 * time.Millisecond)
		futures = append(futures, send(t, p, numbered("a", 2), numbered("b", 1))...)
		if got := outcomes(t, futures); got != "advanced advanced advanced" {
			t.Error(got)
		}
		want(t, a, "a1", "b1", "a2")
	})
}

// TestBytes: a request has no more bytes than it may, but for one message that has more.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		p := newProducer(t, a, &producer.Options{RequestBytes: 64 << 10})
		large := func(queue string, seq int64, size int) producer.Message {
			m := numbered(queue, seq)
			m.Body = []byte(`"` + strings.Repeat("x", size) + `"`)
			return m
		}
		futures := send(t, p, large("a", 1, 30<<10), large("a", 2, 30<<10), large("a", 3, 30<<10), large("b", 1, 30<<10), large("c", 1, 100<<10))
		if got := outcomes(t, futures); got != "advanced advanced advanced advanced advanced" {
			t.Error(got)
		}
		for _, messages := range a.requests {
			size := 0
			for _, m := range messages {
				size += len(m.raw) + 1
			}
			if size > 64<<10 && len(messages) > 1 {
				t.Errorf("%d messages of %d bytes", len(messages), size)
			}
		}
		if got := a.sent(); !slices.Contains(got, "a1 a2") || a.beside {
			t.Errorf("%q, side by side: %t", got, a.beside)
		}
	})
}

// TestLostAnswer: what has no answer goes again under the same ids, before what came later, after longer and
// longer waits, alone, and is a duplicate then.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, n int, m []message) (producer.Answer, error) {
			if n < 3 {
				return producer.Answer{}, errors.New("cut")
			}
			return say(m, func(m message) string {
				if m.name() == "a3" {
					return `{"status":200,"outcome":"advanced"}`
				}
				return `{"status":200,"outcome":"duplicate"}`
			})
		}}
		p := newProducer(t, a, nil)
		first := send(t, p, producer.Message{Queue: "a", Body: []byte(`1`)}, producer.Message{Queue: "a", Body: []byte(`2`)})
		time.Sleep(11 * time.Millisecond)
		first = append(first, send(t, p, producer.Message{Queue: "a", Body: []byte(`3`)})...)
		got := outcomes(t, first)
		a.mu.Lock()
		defer a.mu.Unlock()
		if got != "duplicate duplicate duplicate" || len(a.requests) != 4 {
			t.Fatalf("%s, %d requests", got, len(a.requests))
		}
		for _, r := range a.requests[1:] {
			if len(r) != 3 || r[0].raw != a.requests[0][0].raw || r[1].raw != a.requests[0][1].raw || r[0].ID == r[1].ID {
				t.Errorf("%v, and before %v", r, a.requests[0])
			}
		}
		for i, least := range []time.Duration{50, 100, 200} {
			if waited := a.at[i+1].Sub(a.at[i]); waited < least*time.Millisecond || waited > 3*least*time.Millisecond+time.Millisecond {
				t.Errorf("%v before try %d", waited, i+2)
			}
		}
	})
}

// TestOutcomes: each message has its own; the refused ones fail alone.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			return say(m, func(m message) string {
				return []string{
					`{"status":200,"outcome":"advanced","seq":0}`, `{"status":409,"outcome":"conflict","detail":"another"}`, `{"status":202,"outcome":"parked"}`,
					`{"status":410,"outcome":"late"}`, `{"status":400,"code":"missing","detail":"seq"}`, `{"status":202,"outcome":"waiting","settlesAt":"2026-01-02T03:04:05Z"}`,
					`{"status":200,"outcome":"dropped","late":true,"seq":"9007199254740993"}`,
				}[*m.Seq]
			})
		}}
		p := newProducer(t, a, nil)
		var futures []*producer.Future
		for seq := range int64(7) {
			futures = append(futures, send(t, p, numbered("a", seq))...)
		}
		if got := outcomes(t, futures); got != "advanced 409 parked 410 400 waiting dropped" {
			t.Error(got)
		}
		if r, _ := futures[5].Wait(t.Context()); r.SettlesAt.Year() != 2026 {
			t.Errorf("%+v", r)
		}
		if r, _ := futures[6].Wait(t.Context()); !r.Late || r.Seq != 1<<53+1 {
			t.Errorf("%+v", r)
		}
		want(t, a, "a0 a1 a2 a3 a4 a5 a6")
	})
}

// TestFull: a message that is too far ahead is set aside, so that the one that is missing gets by.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		missing := true
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			return say(m, func(m message) string {
				if *m.Seq == 1 {
					missing = false
				}
				if missing && *m.Seq > 5 {
					return `{"status":429,"outcome":"full"}`
				}
				return `{"status":200,"outcome":"advanced"}`
			})
		}}
		p := newProducer(t, a, nil)
		futures := send(t, p, numbered("a", 9), numbered("b", 2))
		time.Sleep(20 * time.Millisecond)
		futures = append(futures, send(t, p, numbered("a", 2), numbered("a", 1))...)
		if got := outcomes(t, futures); got != "advanced advanced advanced advanced" {
			t.Error(got)
		}
		want(t, a, "a9 b2", "a2 a1", "a9")
	})
}

// TestPartlyUnknown: messages whose fate is unknown go again before those behind them, and nothing else does.
func TestPartlyUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, n int, m []message) (producer.Answer, error) {
			return say(m, func(m message) string {
				if n == 0 && *m.Seq == 2 {
					return `{"status":503,"detail":"busy"}`
				}
				return `{"status":200,"outcome":"advanced"}`
			})
		}}
		p := newProducer(t, a, nil)
		futures := send(t, p, numbered("a", 1), numbered("a", 2), numbered("a", 3), numbered("b", 1))
		time.Sleep(11 * time.Millisecond)
		futures = append(futures, send(t, p, numbered("a", 4), numbered("b", 2))...)
		outcomes(t, futures)
		want(t, a, "a1 a2 a3 b1", "b2", "a2 a4")
	})
}

// TestRefusedAsAWhole: a 400 that names a message fails that one; where it names none, the request goes in
// smaller and smaller parts, until one message is found.
func TestRefusedAsAWhole(t *testing.T) {
	for name, more := range map[string]string{"named": `,"errors":[{"field":"messages[%d].key","code":"malformed","detail":"is not","index":%d}]`, "not named": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
					for i := range m {
						if m[i].name() == "a3" {
							if more == "" {
								return problem(400, "")
							}
							return problem(400, fmt.Sprintf(more, i, i))
						}
					}
					return accept(m)
				}}
				p := newProducer(t, a, nil)
				var messages []producer.Message
				for seq := range int64(8) {
					messages = append(messages, numbered("a", seq))
				}
				got := outcomes(t, send(t, p, append(messages, numbered("b", 1))...))
				field := "key"
				if more == "" {
					field = ""
				}
				if got != "advanced advanced advanced 400"+field+strings.Repeat(" advanced", 5) || a.beside {
					t.Errorf("%s; side by side: %t; %q", got, a.beside, a.sent())
				}
				if n := len(a.sent()); n > 12 {
					t.Errorf("%d requests: %q", n, a.sent())
				}
				if took := time.Since(a.at[0]); took > 100*time.Millisecond {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestNotOfAMessage: answers that speak of the way are waited out, also where the status is below 500.
func TestNotOfAMessage(t *testing.T) {
	for _, status := range []int{301, 401, 403, 404, 408, 429, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{answer: func(_ context.Context, n int, m []message) (producer.Answer, error) {
				if n == 0 {
					answer, err := problem(status, "")
					answer.RetryAfter = 3 * time.Second
					return answer, err
				}
				return accept(m)
			}}
			p := newProducer(t, a, nil)
			if got := outcomes(t, send(t, p, numbered("a", 1))); got != "advanced" {
				t.Error(status, got)
			}
			if waited := a.at[1].Sub(a.at[0]); waited < 3*time.Second {
				t.Errorf("%d: sent again after %v", status, waited)
			}
		})
	}
}

// TestOneQueueHangs: it holds up those that were in the request with it, once, and nobody else.
func TestOneQueueHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(ctx context.Context, _ int, m []message) (producer.Answer, error) {
			for i := range m {
				if strings.HasPrefix(m[i].Queue, "bad") {
					<-ctx.Done()
					return producer.Answer{}, ctx.Err()
				}
			}
			return accept(m)
		}}
		p := newProducer(t, a, &producer.Options{Requests: 4, RequestTimeout: 2 * time.Second})
		for i := range 10 {
			send(t, p, numbered(fmt.Sprint("bad", i), 1))
		}
		with := send(t, p, numbered("good", 1))
		began := time.Now()
		time.Sleep(20 * time.Millisecond)
		if got, took := outcomes(t, send(t, p, numbered("other", 1))), time.Since(began); got != "advanced" || took > 40*time.Millisecond {
			t.Errorf("another queue: %s after %v", got, took)
		}
		if got, took := outcomes(t, with), time.Since(began); got != "advanced" || took < 2*time.Second || took > 13*time.Second {
			t.Errorf("the one with them: %s after %v", got, took)
		}
		for seq := range int64(50) {
			began := time.Now()
			time.Sleep(100 * time.Millisecond)
			if got, took := outcomes(t, send(t, p, numbered("good", 2+seq))), time.Since(began); got != "advanced" || took > 111*time.Millisecond {
				t.Errorf("message %d of a good queue: %s after %v", seq, got, took)
			}
		}
		if s := p.Stats(); s.Troubled != 10 || a.most > 4 || a.beside {
			t.Errorf("%+v, %d requests at once", s, a.most)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestTroubledHasItsTurn: a queue whose request failed is sent again when that is due, also while others have more to
// send than there are requests.
func TestTroubledHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Bool
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			time.Sleep(100 * time.Millisecond)
			return say(m, func(m message) string {
				if m.Queue == "bad" && failed.CompareAndSwap(false, true) {
					return `{"status":503,"detail":"busy"}`
				}
				return `{"status":200,"outcome":"advanced"}`
			})
		}}
		p := newProducer(t, a, &producer.Options{Requests: 2, RequestBytes: 64 << 10})
		began := time.Now()
		bad := send(t, p, numbered("bad", 1))
		for seq := range int64(40) {
			for q := range 4 {
				m := numbered(fmt.Sprint("good", q), 1+seq)
				m.Body = bytes.Repeat([]byte("1"), 60<<10) // one of these is a request
				send(t, p, m)
			}
		}
		if got, took := outcomes(t, bad), time.Since(began); got != "advanced" || took > time.Second {
			t.Errorf("%s after %v", got, took)
		}
	})
}

// TestBackPressure: Send waits where a queue, or all, have what they may; other queues do not.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		a := &api{answer: func(ctx context.Context, _ int, m []message) (producer.Answer, error) {
			if m[0].Queue == "stuck" {
				select {
				case <-open:
				case <-ctx.Done():
					return producer.Answer{}, ctx.Err()
				}
			}
			return accept(m)
		}}
		p := newProducer(t, a, &producer.Options{MaxBytes: 2 << 20, QueueBytes: 1 << 20})
		body := []byte(`"` + strings.Repeat("x", 300<<10) + `"`)
		large := func(queue string, seq int64) producer.Message {
			return producer.Message{Queue: queue, Seq: &seq, Body: body}
		}
		stuck := send(t, p, large("stuck", 1), large("stuck", 2), large("stuck", 3))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Send(short, large("stuck", 4)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a fourth: %v", err)
		}
		if got := outcomes(t, send(t, p, large("other", 1), large("other", 2))); got != "advanced advanced" {
			t.Error(got)
		}
		synctest.Wait()
		if s := p.Stats(); s.Bytes > 1<<20 {
			t.Errorf("%+v", s)
		}
		waits := make(chan error)
		go func() {
			_, err := p.Send(t.Context(), large("stuck", 4))
			waits <- err
		}()
		synctest.Wait()
		close(open)
		if err := <-waits; err != nil {
			t.Error(err)
		}
		if got := outcomes(t, stuck); got != "advanced advanced advanced" {
			t.Error(got)
		}
	})
}

// TestGiveUp: a message is tried for so long, and what gives up says how often.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(context.Context, int, []message) (producer.Answer, error) { return problem(503, "") }}
		p := newProducer(t, a, &producer.Options{GiveUpAfter: time.Minute})
		f := send(t, p, numbered("a", 1))[0]
		_, err := f.Wait(t.Context())
		var gaveUp *producer.GaveUpError
		if !errors.As(err, &gaveUp) || gaveUp.Tries < 8 || !producer.Transient(err) {
			t.Errorf("%v", err)
		}
	})
}

// TestClose: what is there is sent at once, nothing more is taken, and who waits for room is told.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			time.Sleep(time.Second)
			return accept(m)
		}}
		p := newProducer(t, a, &producer.Options{Linger: time.Minute, MaxBytes: 2 << 20})
		futures := send(t, p, numbered("a", 1), numbered("b", 1))
		large := producer.Message{Queue: "a", ID: "x", Body: []byte(`"` + strings.Repeat("x", 340<<10) + `"`)}
		futures = append(futures, send(t, p, large, large, large)...)
		waits := make(chan error)
		go func() {
			_, err := p.Send(t.Context(), large)
			waits <- err
		}()
		synctest.Wait()
		go func() { waits <- p.Close(t.Context()) }()
		if err := <-waits; !errors.Is(err, producer.ErrClosed) {
			t.Error(err)
		}
		if err := <-waits; err != nil {
			t.Error(err)
		}
		if got := outcomes(t, futures); got != "advanced advanced advanced advanced advanced" {
			t.Error(got)
		}
		if _, err := p.Send(t.Context(), numbered("a", 2)); !errors.Is(err, producer.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestFlushIsForWhatCameBefore: what comes later does not hold it up.
func TestFlushIsForWhatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			time.Sleep(time.Second)
			return accept(m)
		}}
		p := newProducer(t, a, &producer.Options{Linger: time.Minute})
		send(t, p, numbered("a", 1))
		began := time.Now()
		go func() {
			time.Sleep(time.Millisecond)
			_, _ = p.Send(context.Background(), numbered("b", 1))
		}()
		if err := p.Flush(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if s := p.Stats(); s.Messages != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestCallback: it has what Wait has, in the queue's order.
func TestCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settled, got []string
		var mu sync.Mutex
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			return say(m, func(m message) string {
				return fmt.Sprintf(`{"status":%d,"outcome":"x"}`, []int{http.StatusOK, http.StatusConflict}[*m.Seq%2])
			})
		}}
		p := newProducer(t, a, &producer.Options{Batch: 25, Hooks: producer.Hooks{
			Settled: func(s producer.Settled) {
				mu.Lock()
				defer mu.Unlock()
				settled = append(settled, fmt.Sprint(s.Queue, len(s.Document) > 0, s.Tries, s.Err != nil))
			},
			Requested: func(r producer.Requested) {
				mu.Lock()
				defer mu.Unlock()
				settled = append(settled, fmt.Sprint(r.Queues, r.Messages, r.Status, r.Again, r.Err))
			},
		}})
		for seq := range int64(2) {
			if err := p.SendFunc(t.Context(), numbered("a", seq), func(r producer.Result, err error) {
				got = append(got, fmt.Sprint(r.Outcome, err != nil))
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !slices.Equal(got, []string{"x false", " true"}) && !slices.Equal(got, []string{"xfalse", "true"}) {
			t.Errorf("%q", got)
		}
		if len(settled) != 3 || settled[2] != "1 2 200 0 <nil>" {
			t.Errorf("%q", settled)
		}
	})
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
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
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
		"Spool.Dir":      {Spool: &producer.Spool{}},
		"Spool.Sync":     {Spool: &producer.Spool{Dir: "x", Sync: 7}},
	} {
		if _, err := producer.New(&api{}, &o); err == nil || !strings.HasPrefix(err.Error(), field+" ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
