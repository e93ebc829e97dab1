package producer_test

import (
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

// TestOutcomes: each message has its own; the refused ones fail alone.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{each: func(_ int, m message) string {
			return []string{
				`{"status":200,"outcome":"advanced","seq":0}`, `{"status":409,"outcome":"conflict","detail":"another"}`, `{"status":202,"outcome":"parked"}`,
				`{"status":410,"outcome":"late"}`, `{"status":400,"code":"missing","detail":"seq"}`, `{"status":202,"outcome":"waiting","settlesAt":"2026-01-02T03:04:05Z"}`,
				`{"status":200,"outcome":"dropped","late":true,"seq":"9007199254740993"}`,
			}[*m.Seq]
		}}
		p := newProducer(t, a, nil)
		futures := sendAll(t, p, "a", 0, 7)
		check.Is(t, outcomes(t, futures), "advanced 409 parked 410 400 waiting dropped")
		for i, want := range map[int]producer.RefusedError{
			1: {Status: 409, Outcome: "conflict", Detail: "another"},
			4: {Status: 400, Code: "missing", Detail: "seq"},
		} {
			_, err := futures[i].Wait(t.Context())
			check.Is(t, *check.As[*producer.RefusedError](t, err), want)
		}
		r, _ := futures[5].Wait(t.Context())
		check.That(t, r.SettlesAt.Year() == 2026, "%+v", r)
		r, _ = futures[6].Wait(t.Context())
		check.That(t, r.Late && r.Seq == 1<<53+1, "%+v", r)
		want(t, a, "a0 a1 a2 a3 a4 a5 a6")
	})
}

// inLine answers as a queue in arrival order does: what is not next is ahead, but for what a case
// has fail.
func inLine(fails func(m message) bool) func(context.Context, int,
	[]message) (producer.Answer, error) {
	position := int64(0)
	return func(_ context.Context, _ int, m []message) (producer.Answer, error) {
		return say(m, func(m message) string {
			switch {
			case fails(m):
				return `{"status":503,"detail":"busy"}`
			case *m.Seq <= position:
				return `{"status":200,"outcome":"duplicate"}`
			case *m.Seq > position+1:
				return fmt.Sprintf(`{"status":409,"outcome":"ahead","detail":"not yet","new":%d}`, position)
			}
			position++
			return stored
		})
	}
}

// TestAhead: what is ahead of its queue goes again behind the message that is next, where that was
// sent too: later, or with it, and it goes again.
func TestAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		a := &api{answer: inLine(func(m message) bool {
			fails := m.name() == "a4" && !failed
			failed = failed || fails
			return fails
		})}
		p := newProducer(t, a, nil)
		futures := send(t, p, numbered("a", 1), numbered("a", 2))
		bubble.Sleep(20 * time.Millisecond)
		futures = append(futures, send(t, p, numbered("a", 3), numbered("a", 4), numbered("a", 5),
			numbered("a", 6))...)
		check.Is(t, outcomes(t, futures), strings.Repeat("advanced ", 5)+"advanced")
		a.mu.Lock()
		defer a.mu.Unlock()
		third := a.requests[2]
		check.That(t, third[0].name() == "a4", "%v is sent before the one that is next", third)
	})
}

// TestAheadOfAFullOne: the one that is next goes again too, and the others do not wait for it.
func TestAheadOfAFullOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := inLine(func(message) bool { return false })
		a := &api{answer: func(ctx context.Context, n int, m []message) (producer.Answer, error) {
			if n > 0 {
				return answer(ctx, n, m)
			}
			return say(m, func(m message) string {
				if *m.Seq == 1 {
					return `{"status":429,"outcome":"full"}`
				}
				return `{"status":409,"outcome":"ahead","new":0}`
			})
		}}
		p := newProducer(t, a, nil)
		check.Is(t, outcomes(t, send(t, p, numbered("a", 1), numbered("a", 2))), "advanced advanced")
		want(t, a, "a1 a2", "a1 a2")
	})
}

// TestAheadOfWhatComesLater: the one that is next waits behind it.
func TestAheadOfWhatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		answer := inLine(func(message) bool { return false })
		a := &api{answer: func(ctx context.Context, n int, m []message) (producer.Answer, error) {
			if n == 0 {
				<-busy
			}
			return answer(ctx, n, m)
		}}
		p := newProducer(t, a, nil)
		futures := send(t, p, numbered("a", 2))
		bubble.Sleep(20 * time.Millisecond)
		futures = append(futures, send(t, p, numbered("a", 1))...)
		close(busy)
		check.Is(t, outcomes(t, futures), "advanced advanced")
		want(t, a, "a2", "a1", "a2")
	})
}

// TestAheadForGood: what is next was not sent by this producer. The sender knows from where to go
// on, and can.
func TestAheadForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: inLine(func(message) bool { return false })}
		p := newProducer(t, a, nil)
		futures := send(t, p, numbered("a", 1), numbered("a", 3), numbered("b", 1))
		check.Is(t, outcomes(t, futures[:2]), "advanced 409")
		_, err := futures[1].Wait(t.Context())
		want := producer.RefusedError{Status: 409, Outcome: "ahead", Detail: "not yet", Position: 1}
		check.Is(t, *check.As[*producer.RefusedError](t, err), want)
		check.Is(t, outcomes(t, send(t, p, numbered("a", 2), numbered("a", 3))), "advanced advanced")
	})
}

// TestRefusedAsAWhole: a 400 that names a message fails that one; where it names none, the request
// goes in smaller and smaller parts, until one message is found.
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
				got := outcomes(t, append(sendAll(t, p, "a", 0, 8), send(t, p, numbered("b", 1))...))
				field := "key"
				if more == "" {
					field = ""
				}
				if got != "advanced advanced advanced 400"+field+strings.Repeat(" advanced", 5) || a.beside {
					t.Errorf("%s; side by side: %t; %q", got, a.beside, a.sent())
				}
				n := len(a.sent())
				check.That(t, n <= 12, "%d requests: %q", n, a.sent())
				took := time.Since(a.at[0])
				check.That(t, took <= 100*time.Millisecond, "it took %v", took)
			})
		})
	}
}

// TestNotOfAMessage: answers that speak of the way are waited out, also where the status is below
// 500.
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
			got := outcomes(t, send(t, newProducer(t, a, nil), numbered("a", 1), numbered("a", 2)))
			check.That(t, got == "advanced advanced", "%v %v", status, got)
			want(t, a, "a1 a2", "a1 a2")
			waited := a.at[1].Sub(a.at[0])
			check.That(t, waited >= 3*time.Second, "%d: sent again after %v", status, waited)
		})
	}
}

// TestFullGoesBehindTheWaiting: also where both may go at the same moment.
func TestFullGoesBehindTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, n int, m []message) (producer.Answer, error) {
			if n == 0 {
				return say(m, func(message) string { return `{"status":429,"outcome":"full"}` })
			}
			bubble.Sleep(time.Second)
			return accept(m)
		}}
		p := newProducer(t, a, nil)
		send(t, p, numbered("a", 9))
		bubble.Sleep(20 * time.Millisecond)
		send(t, p, numbered("a", 2))
		bubble.Sleep(500 * time.Millisecond) // a2 is under way, and a9 may go again
		send(t, p, numbered("a", 1))
		check.OK(t, p.Flush(t.Context()))
		want(t, a, "a9", "a2", "a1 a9")
	})
}

// TestRepeatDoesNotLinger: what is left of a batch that was full goes again after its back-off.
func TestRepeatDoesNotLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{each: func(n int, m message) string {
			return result(n == 0 && *m.Seq == 7, 503)
		}}
		p := newProducer(t, a, &producer.Options{Batch: 25, Linger: time.Minute})
		futures := sendAll(t, p, "a", 0, 25)
		began := time.Now()
		if outcomes(t, futures); time.Since(began) > time.Second {
			t.Errorf("it took %v", time.Since(began))
		}
	})
}

// TestBackOff: waits grow from MinBackOff to MaxBackOff, each give or take a half, and a success
// starts them anew. What is full waits in the same way.
func TestBackOff(t *testing.T) {
	for name, refusal := range map[string]string{"fails": `{"status":503}`,
		"full": `{"status":429,"outcome":"full"}`} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{each: func(n int, _ message) string {
				if n == 8 {
					return stored
				}
				return refusal
			}}
			p := newProducer(t, a, &producer.Options{MinBackOff: time.Second, MaxBackOff: 4 * time.Second})
			outcomes(t, send(t, p, numbered("a", 1)))
			send(t, p, numbered("a", 2))
			bubble.Sleep(2 * time.Second)
			distinct := map[time.Duration]bool{}
			for i, about := range []time.Duration{1, 2, 4, 4, 4, 4, 4, 4, 0, 1} {
				waited := a.at[i+1].Sub(a.at[i])
				distinct[waited] = true
				least, most := about*time.Second/2, about*time.Second*3/2+20*time.Millisecond
				check.That(t, waited >= least && waited <= most, "%s: %v before try %d, want %v to %v",
					name, waited, i+2, least, most)
			}
			check.That(t, len(distinct) >= 8, "%s: waits are not spread: %v", name, distinct)
		})
	}
}

// TestWrongNumberOfResults: an answer with more or fewer results than messages is no answer.
func TestWrongNumberOfResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: func(_ context.Context, n int, m []message) (producer.Answer, error) {
			switch n {
			case 0:
				return accept(m[:1])
			case 1:
				return accept(append(m, m[0]))
			}
			return accept(m)
		}}
		p := newProducer(t, a, nil)
		check.Is(t, outcomes(t, send(t, p, numbered("a", 1), numbered("a", 2))), "advanced advanced")
		want(t, a, "a1 a2", "a1 a2", "a1 a2")
		waited := a.at[1].Sub(a.at[0])
		check.That(t, waited >= 50*time.Millisecond, "sent again after %v", waited)
	})
}

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
		check.Is(t, outcomes(t, send(t, p, numbered("c", 1))), "advanced")
		want(t, a, "a1 a2 b1", "c1")
		first, second := a.at[0].Sub(began), a.at[1].Sub(began)
		check.That(t, first == 10*time.Millisecond && second == 16*time.Millisecond,
			"sent after %v and %v", first, second)
	})
}

// TestFullBatch: a full batch does not wait, and a queue's next one waits for its answer.
func TestFullBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{answer: inASecond}
		p := newProducer(t, a, &producer.Options{Batch: 25, Linger: time.Minute})
		began := time.Now()
		sendAll(t, p, "a", 0, 60)
		check.OK(t, p.Flush(t.Context()))
		var sizes []int
		for _, r := range a.requests {
			sizes = append(sizes, len(r))
		}
		took := time.Since(began)
		check.That(t, slices.Equal(sizes, []int{25, 25, 10}) && took == 3*time.Second && !a.beside,
			"batches of %v after %v, side by side: %t", sizes, took, a.beside)
		synctest.Wait()
		s := p.Stats()
		check.That(t, s.Messages == 0 && s.Bytes == 0 && s.Queues == 0 && s.Requests == 0, "%+v", s)
	})
}

// TestBytes: a request has no more bytes than it may, but for one message that has more.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		p := newProducer(t, a, &producer.Options{RequestBytes: 64 << 10})
		futures := send(t, p, sized("a", 1, 30<<10), sized("a", 2, 30<<10), sized("a", 3, 30<<10),
			sized("b", 1, 30<<10), sized("c", 1, 100<<10))
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

// TestBatchesStayWhole: what a queue has to send goes in one request, and waits for no other
// queue's.
func TestBatchesStayWhole(t *testing.T) {
	for name, each := range map[string]struct {
		messages int64
		body     int
	}{"by number": {300, 1}, "by bytes": {2, 100 << 10}} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{answer: inASecond}
			p := newProducer(t, a, &producer.Options{RequestBytes: 256 << 10})
			began := time.Now()
			for seq := range each.messages {
				for queue := range 3 {
					send(t, p, sized(fmt.Sprint("q", queue), seq, each.body))
				}
			}
			bubble.Sleep(time.Second) // the linger is over, and no answer is there
			check.Is(t, len(a.sent()), 3, name, each.messages)
			err := p.Flush(t.Context())
			check.That(t, err == nil && time.Since(began) == time.Second+10*time.Millisecond,
				"%s: %v after %v", name, err, time.Since(began))
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
		sendAll(t, p, "a", 0, 8)
		check.OK(t, p.Flush(t.Context()))
		before := len(a.sent())
		most = 500
		sendAll(t, p, "a", 8, 108)
		check.OK(t, p.Flush(t.Context()))
		n := len(a.sent()) - before
		check.That(t, n <= 7, "100 messages in %d requests", n)
	})
}
