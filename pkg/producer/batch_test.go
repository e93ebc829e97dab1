package producer_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer"
)

// TestLinger: what comes within the linger goes together, with what has waited for half of it.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		p := newProducer(t, a, nil)
		began := time.Now()
		send(t, p, numbered("a", 1))
		bubble.Sleep(4 * time.Millisecond)
		send(t, p, numbered("b", 1), numbered("a", 2))
		bubble.Sleep(2 * time.Millisecond)
		futures := send(t, p, numbered("c", 1))
		check.Is(t, outcomes(t, futures), "advanced")
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
			bubble.Sleep(time.Second)
			return accept(m)
		}}
		p := newProducer(t, a, &producer.Options{Batch: 25, Linger: time.Minute})
		began := time.Now()
		for seq := range int64(60) {
			send(t, p, numbered("a", seq))
		}
		check.OK(t, p.Flush(t.Context()))
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
				bubble.Sleep(time.Second)
			}
			return accept(m)
		}}
		p := newProducer(t, a, nil)
		futures := send(t, p, numbered("a", 1))
		bubble.Sleep(100 * time.Millisecond)
		futures = append(futures, send(t, p, numbered("a", 2), numbered("b", 1))...)
		check.Is(t, outcomes(t, futures), "advanced advanced advanced")
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
		check.Is(t, outcomes(t, futures), "advanced advanced advanced advanced advanced")
		for _, messages := range a.requests {
			size := 0
			for _, m := range messages {
				size += len(m.raw) + 1
			}
			check.That(t, size <= 64<<10 || len(messages) <= 1,
				"%d messages of %d bytes", len(messages), size)
		}
		got := a.sent()
		check.That(t, slices.Contains(got, "a1 a2") && !a.beside, "%q, side by side: %t", got, a.beside)
	})
}

// TestBatchThatIsJustFull: the message that fills a batch sends it, before Linger.
func TestBatchThatIsJustFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProducer(t, &api{}, &producer.Options{Batch: 25, Linger: time.Minute})
		began := time.Now()
		for seq := range int64(25) {
			send(t, p, numbered("a", seq))
		}
		synctest.Wait()
		s := p.Stats()
		check.That(t, s.Messages == 0 && time.Since(began) == 0, "%+v after %v", s, time.Since(began))
	})
}

// TestBatchesStayWhole: what a queue has to send goes in one request, and waits for no other queue's.
func TestBatchesStayWhole(t *testing.T) {
	for name, each := range map[string]struct {
		messages int64
		body     int
	}{"by number": {300, 1}, "by bytes": {2, 100 << 10}} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
				bubble.Sleep(time.Second)
				return accept(m)
			}}
			p := newProducer(t, a, &producer.Options{RequestBytes: 256 << 10})
			began := time.Now()
			for seq := range each.messages {
				for queue := range 3 {
					m := numbered(fmt.Sprint("q", queue), seq)
					m.Body = bytes.Repeat([]byte("1"), each.body)
					send(t, p, m)
				}
			}
			bubble.Sleep(time.Second) // the linger is over, and no answer is there
			check.Is(t, len(a.sent()), 3, name, each.messages)
			if err := p.Flush(t.Context()); err != nil || time.Since(began) != time.Second+10*time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		})
	}
}

// TestBatchesGrowAgain: after smaller and smaller requests, a queue's go well and get larger.
func TestBatchesGrowAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := 1
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			if len(m) > most {
				return problem(413, "")
			}
			return accept(m)
		}}
		p := newProducer(t, a, nil)
		for seq := range int64(8) {
			send(t, p, numbered("a", seq))
		}
		check.OK(t, p.Flush(t.Context()))
		before := len(a.sent())
		most = 500
		for seq := range int64(100) {
			send(t, p, numbered("a", 8+seq))
		}
		check.OK(t, p.Flush(t.Context()))
		if n := len(a.sent()) - before; n > 7 { // of 1, 2, 4, … messages
			t.Errorf("100 messages in %d requests", n)
		}
	})
}
