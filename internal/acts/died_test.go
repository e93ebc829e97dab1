package acts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
)

// TestABatchThatDies: whichever request its process dies at, before it or behind it, whoever goes on acts on each
// consumer once, and counts it once.
func TestABatchThatDies(t *testing.T) {
	for _, behind := range []bool{false, true} {
		for step := 1; ; step++ {
			b := newBench(t)
			b.block(7, "no")
			id := b.started(redrive())
			b.dies, b.behind = step, behind
			_, err := b.desk().Turn(t.Context(), id)
			died := b.dead
			b.dies = 0
			if died {
				b.now = b.now.Add(time.Minute)
			} else {
				b.check(err)
			}
			done := b.finish(id)
			if _, err := b.desk().Turn(t.Context(), id); err != nil { // closes it, where that is what it died at
				t.Fatal(err)
			}
			b.once(fmt.Sprintf("died at %d (behind it: %v)", step, behind), done, 7, "unblock")
			if !died {
				if step < 40 {
					t.Errorf("a batch has %d requests", step)
				}
				break
			}
		}
	}
}

// TestTwoAtOnce: while one process sleeps at a request another carries the batch out, or two pages of it.
func TestTwoAtOnce(t *testing.T) {
	for _, whole := range []bool{true, false} {
		for step := 1; ; step++ {
			b := newBench(t)
			b.block(7, "no")
			id := b.started(redrive())
			n := 0
			sleeper := acts.New(b.deliverer(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if n++; n == step {
					b.now = b.now.Add(time.Minute)
					if whole {
						b.finish(id)
					} else {
						b.dies = 40
						_, _ = b.desk().Turn(t.Context(), id)
						b.dies, b.dead = 0, false
						b.now = b.now.Add(time.Minute)
					}
				}
				return b.do(ctx, r)
			}))
			sleeper.ForEach = fanout.OneByOne
			sleeper.Wait = func(_ context.Context, left time.Duration) error { b.now = b.now.Add(left); return nil }
			_, err := sleeper.Turn(t.Context(), id)
			b.check(err)
			b.once(fmt.Sprintf("slept at %d (the whole batch: %v)", step, whole), b.finish(id), 7, "unblock")
			if n < step {
				break
			}
		}
	}
	b := newBench(t)
	b.block(7, "no")
	id := b.started(redrive())
	b.dies = 10
	_, _ = b.desk().Turn(t.Context(), id)
	was := len(b.made)
	turn, err := b.desk().Turn(t.Context(), id)
	b.check(err)
	if !turn.Next.After(b.now) || len(b.made) != was {
		t.Errorf("another went on under the lease: %+v", turn)
	}
}

// TestWhatTheStoreSays: an error that is not about a consumer is no refusal of it: its act comes again, also
// where that is done already, and at last has failed, in words that say nothing of the store; an outage lasts as
// long as it does.
func TestWhatTheStoreSays(t *testing.T) {
	secret := errors.New("AccessDenied: arn:aws:dynamodb:::table/inside")
	for _, request := range []string{"unblock", "consumer", "end act"} {
		for _, c := range []struct {
			times int
			err   error
			done  int
		}{{1, secret, 7}, {4, secret, 7}, {1000, secret, 6}, {30, errDied, 7}} {
			b := newBench(t)
			b.block(7, "no")
			id := b.started(redrive())
			left, told := c.times, 0
			b.breaks = func(r ddb.Request) error {
				key := ""
				switch r := r.(type) {
				case ddb.Update:
					key = r.Key.Get("queue").Str()
				case ddb.Get:
					key = r.Key.Get("queue").Str()
				}
				if r.Name() != request || key != "q0002" || left == 0 {
					return nil
				}
				left--
				return c.err
			}
			for range 100 {
				turn, err := b.desk().Turn(t.Context(), id)
				if err != nil {
					told++
				}
				if turn.Next.IsZero() {
					break
				}
				b.now = b.now.Add(time.Minute)
			}
			done, err := b.desk().Batch(t.Context(), id)
			b.check(err)
			what := fmt.Sprintf("%s fails %d times (%v)", request, c.times, c.err)
			b.is(what+": done, failed", []any{done.State, done.Done, done.Failed, done.Tries}, []any{acts.Done, c.done, 7 - c.done, 0})
			if told != min(c.times, 30) && told != 4 {
				t.Errorf("%s: told %d times", what, told)
			}
			for _, f := range done.Failures {
				if f.Queue != "q0002" || strings.Contains(f.Why, "inside") || f.Why == "" {
					t.Errorf("%s: %+v", what, f)
				}
			}
			for i, made := range b.made {
				if made != 1 {
					t.Errorf("%s: %s %d times", what, i, made)
				}
			}
		}
	}
}
