package producer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/pkg/producer"
)

// TestGiveUp: a message is tried for so long, and what gives up says how often.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(context.Context, int, []message) (producer.Answer, error) { return problem(503, "") }}
		p := newProducer(t, a, &producer.Options{GiveUpAfter: time.Minute})
		began := time.Now()
		_, err := send(t, p, numbered("a", 1))[0].Wait(t.Context())
		took, tries := time.Since(began), len(a.sent())
		if want := fmt.Sprintf("given up after %d tries: 503", tries); !errors.Is(err, producer.ErrGaveUp) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if tries < 8 || took < time.Minute || took > time.Minute+15*time.Second {
			t.Errorf("%d tries in %v", tries, took)
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
