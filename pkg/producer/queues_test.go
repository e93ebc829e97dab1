package producer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer"
)

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
		bubble.Sleep(20 * time.Millisecond)
		got, took := outcomes(t, send(t, p, numbered("other", 1))), time.Since(began)
		check.That(t, got == "advanced" && took <= 40*time.Millisecond, "another queue: %s after %v",
			got, took)
		got, took = outcomes(t, with), time.Since(began)
		check.That(t, got == "advanced" && took >= 2*time.Second && took <= 13*time.Second,
			"the one with them: %s after %v", got, took)
		for seq := range int64(50) {
			began := time.Now()
			bubble.Sleep(100 * time.Millisecond)
			got, took := outcomes(t, send(t, p, numbered("good", 2+seq))), time.Since(began)
			check.That(t, got == "advanced" && took <= 111*time.Millisecond,
				"message %d of a good queue: %s after %v", seq, got, took)
		}
		s := p.Stats()
		check.That(t, s.Troubled == 10 && a.most <= 4 && !a.beside, "%+v, %d requests at once", s, a.most)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check.Fails(t, p.Close(short), context.DeadlineExceeded)
	})
}

// TestTroubledHasItsTurn: a queue whose request failed is sent again when that is due, also while
// others have more to send than there are requests.
func TestTroubledHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Bool
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			bubble.Sleep(100 * time.Millisecond)
			return say(m, func(m message) string {
				return result(m.Queue == "bad" && failed.CompareAndSwap(false, true), 503)
			})
		}}
		p := newProducer(t, a, &producer.Options{Requests: 2, RequestBytes: 64 << 10})
		began := time.Now()
		bad := send(t, p, numbered("bad", 1))
		for seq := range int64(40) {
			for q := range 4 {
				send(t, p, sized(fmt.Sprint("good", q), 1+seq, 60<<10)) // each is a request
			}
		}
		got, took := outcomes(t, bad), time.Since(began)
		check.That(t, got == "advanced" && took <= time.Second, "%s after %v", got, took)
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
		stuck := send(t, p, large("stuck", 1), large("stuck", 2), large("stuck", 3))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check.Fails(t, check.Err(p.Send(short, large("stuck", 4))), context.DeadlineExceeded)
		check.Is(t, outcomes(t, send(t, p, large("other", 1), large("other", 2))), "advanced advanced")
		synctest.Wait()
		s := p.Stats()
		check.That(t, s.Bytes <= 1<<20, "%+v", s)
		waits := make(chan error)
		go func() { _, err := p.Send(t.Context(), large("stuck", 4)); waits <- err }()
		synctest.Wait()
		close(open)
		check.OK(t, <-waits)
		check.Is(t, outcomes(t, stuck), "advanced advanced advanced")
	})
}

// TestTroubled: a queue goes alone after a failure that may be its own, or a slow answer.
func TestTroubled(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(m []message) (producer.Answer, error)
		want   int
	}{
		"no answer": {func([]message) (producer.Answer, error) { return producer.Answer{}, errors.New("cut") }, 2},
		"503":       {func([]message) (producer.Answer, error) { return problem(503, "") }, 2},
		"too many":  {func([]message) (producer.Answer, error) { return problem(429, "") }, 0},
		"who asks":  {func([]message) (producer.Answer, error) { return problem(403, "") }, 0},
		"one of them": {func(m []message) (producer.Answer, error) {
			return say(m, func(m message) string { return result(m.Queue == "a", 503) })
		}, 1},
		"one is full": {func(m []message) (producer.Answer, error) {
			return say(m, func(m message) string { return result(m.Queue == "a", 429) })
		}, 0},
		"slow": {func(m []message) (producer.Answer, error) {
			bubble.Sleep(2 * time.Second)
			return say(m, func(m message) string { return result(true, 429) })
		}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{answer: func(_ context.Context, n int, m []message) (producer.Answer, error) {
				if n > 0 {
					return accept(m)
				}
				return c.answer(m)
			}}
			p := newProducer(t, a, &producer.Options{MinBackOff: time.Hour})
			send(t, p, numbered("a", 1), numbered("b", 1))
			bubble.Sleep(10 * time.Second)
			check.Is(t, p.Stats().Troubled, c.want, name)
		})
	}
}

// result is one with a status, or a success.
func result(fails bool, status int) string {
	if fails {
		return fmt.Sprintf(`{"status":%d}`, status)
	}
	return stored
}

// TestMemoryOfAll: all queues together have MaxBytes, and a Send that gave up waiting has taken
// nothing.
func TestMemoryOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		a := &api{answer: func(ctx context.Context, _ int, m []message) (producer.Answer, error) {
			select {
			case <-open:
				return accept(m)
			case <-ctx.Done():
				return producer.Answer{}, ctx.Err()
			}
		}}
		p := newProducer(t, a, &producer.Options{MaxBytes: 2 << 20, QueueBytes: 1 << 20})
		send(t, p, large("a", 1), large("a", 2), large("a", 3), large("b", 1), large("b", 2),
			large("b", 3))
		for range 3 {
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			check.Fails(t, check.Err(p.Send(short, large("c", 1))), context.DeadlineExceeded)
			cancel()
		}
		close(open)
		check.OK(t, p.Flush(t.Context()))
		check.Is(t, outcomes(t, send(t, p, large("c", 1), large("c", 2), large("c", 3))),
			"advanced advanced advanced")
	})
}
