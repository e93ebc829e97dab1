package producer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer"
)

// TestGiveUp: a message is tried for GiveUpAfter, and then no more, whether the API fails or is full.
func TestGiveUp(t *testing.T) {
	for name, result := range map[string]string{"fails": `{"status":503}`, "full": `{"status":429,"outcome":"full"}`} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
				return say(m, func(message) string { return result })
			}}
			p := newProducer(t, a, &producer.Options{GiveUpAfter: time.Minute})
			began := time.Now()
			over, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err := send(t, p, numbered("a", 1))[0].Wait(over)
			took, tries := time.Since(began), len(a.sent())
			if want := fmt.Sprintf("given up after %d tries: ", tries); !errors.Is(err, producer.ErrGaveUp) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			check.That(t, tries >= 8 && took >= time.Minute && took <= time.Minute+15*time.Second,
				"%s: %d tries in %v", name, tries, took)
			bubble.Sleep(time.Minute)
			more := len(a.sent()) - tries
			check.That(t, more <= 0, "%s: %d requests after the last try", name, more)
			_ = p.Close(over)
		})
	}
}

// TestClose: what is there is sent at once, nothing more is taken, and a caller that waits for room gets an error.
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
		check.Fails(t, <-waits, producer.ErrClosed)
		check.OK(t, <-waits)
		check.Is(t, outcomes(t, futures), "advanced advanced advanced advanced advanced")
		check.Fails(t, check.Err(p.Send(t.Context(), numbered("a", 2))), producer.ErrClosed)
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
		p := newProducer(t, a, &producer.Options{MaxBytes: 2 << 20, GiveUpAfter: time.Second, MinBackOff: time.Hour})
		large := numbered("hangs", 1)
		large.Body = []byte(`"` + strings.Repeat("x", 340<<10) + `"`)
		futures := send(t, p, numbered("full", 1), large)
		bubble.Sleep(100 * time.Millisecond) // they are set aside, and in a request
		futures = append(futures, send(t, p, large, large)...)
		began := time.Now()
		go func() {
			if _, err := p.Send(t.Context(), large); !errors.Is(err, producer.ErrClosed) || time.Since(began) > 0 {
				t.Errorf("who waits for room: %v after %v", err, time.Since(began))
			}
		}()
		synctest.Wait()
		over, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := p.Close(over); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("close: %v after %v", err, time.Since(began))
		}
		for i, f := range futures {
			check.Fails(t, check.Err(f.Wait(t.Context())), producer.ErrClosed, i)
		}
		s := p.Stats()
		check.That(t, s.Messages == 0 && s.Bytes == 0, "%+v", s)
	})
}

// TestFlushIsForAllThatCameBefore: also for what an earlier Flush did not wait for to its end.
func TestFlushIsForAllThatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			bubble.Sleep(time.Second)
			return accept(m)
		}}
		p := newProducer(t, a, nil)
		send(t, p, numbered("a", 1))
		began := time.Now()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		check.Fails(t, p.Flush(over), context.Canceled)
		if err := p.Flush(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
