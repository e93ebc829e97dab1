package producer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/pkg/producer"
)

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
			bubble.Sleep(time.Second)
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
			bubble.Sleep(time.Second)
			return accept(m)
		}}
		p := newProducer(t, a, &producer.Options{Linger: time.Minute})
		send(t, p, numbered("a", 1))
		began := time.Now()
		go func() {
			bubble.Sleep(time.Millisecond)
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
