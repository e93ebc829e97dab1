package dedup_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// TestEachCallerHasItsOwnDeadline: calls of one process share a wait, and not
// how long they may wait.
func TestEachCallerHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		elsewhere, here := process(t, store, &options{Lease: time.Minute}), process(t, store, &options{Lease: time.Minute})
		go func() {
			_, _ = elsewhere.Once(t.Context(), "a", func(context.Context) (string, error) {
				bubble.Sleep(8 * time.Second)
				return "value", nil
			})
		}()
		synctest.Wait()
		type result struct {
			out   dedup.Outcome[string]
			err   error
			after time.Duration
		}
		began := time.Now()
		call := func(within time.Duration) <-chan result {
			answer := make(chan result, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				out, err := here.Once(ctx, "a", never(t))
				answer <- result{out, err, time.Since(began)}
			}()
			synctest.Wait()
			return answer
		}
		// Three that come one after the other; the first asks the table.
		hasty, patient, hastier := call(2*time.Second), call(time.Minute), call(time.Second)
		if got := <-hastier; got.after > time.Second {
			t.Errorf("the hastier one: %+v", got)
		} else {
			isA[*dedup.StillRunningError](t, got.err)
		}
		if got := <-hasty; got.after > 2*time.Second {
			t.Errorf("the hasty one: %+v", got)
		} else {
			isA[*dedup.StillRunningError](t, got.err)
		}
		if got := <-patient; got.err != nil || got.out.Value != "value" {
			t.Errorf("the patient one: %+v, %v after %v", got.out, got.err, got.after)
		}
	})
}

// TestPatienceIsNotDoubled: who has waited for a call of its process that gave
// up waits no longer than it may in all, and asks no more than once again.
func TestPatienceIsNotDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter := ddbtest.NewMeter(memory())
		store := on(t, meter)
		check.Get(process(t, store, nil).TryStart(t.Context(), "a"))
		here := process(t, store, nil)
		began := time.Now()
		answers := make(chan error)
		call := func(ctx context.Context) {
			_, err := here.Once(ctx, "a", never(t))
			answers <- err
		}
		// The one that asks the table gives up before the others.
		hasty, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go call(hasty)
		synctest.Wait()
		for range 50 {
			go call(t.Context())
		}
		for range 51 {
			isA[*dedup.StillRunningError](t, <-answers)
		}
		took := time.Since(began)
		check.That(t, took <= 15*time.Second, "waited %v, want 15s at most", took)
		claims := meter.Take().Writes
		check.That(t, claims <= 3, "%v claims, want 3 at most", claims)
	})
}

// TestStuckEffectKeepsNobody: an effect that does not return when its lease ends
// is taken over by calls of its own process as well, as it is by others.
func TestStuckEffectKeepsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := process(t, dedup.NewMemory(), &options{Lease: time.Minute, Poll: dedup.Linear(time.Second, time.Minute)})
		release, stuck := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := d.Once(t.Context(), "a", func(context.Context) (string, error) { <-release; return "late", nil })
			stuck <- err
		}()
		synctest.Wait()
		bubble.Sleep(30 * time.Second)
		// Some wait as the lease ends; one of them runs the effect.
		began := time.Now()
		var ran atomic.Int64
		answers := make(chan dedup.Outcome[string])
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		for range 5 {
			go func() {
				out, err := d.Once(ctx, "a", returns("second", &ran))
				if err != nil {
					t.Error(err)
				}
				answers <- out
			}()
		}
		for range 5 {
			out := <-answers
			check.That(t, out.Value == "second" && out.Attempt == 2, "%+v", out)
		}
		if took := time.Since(began); took < 32*time.Second || took > 34*time.Second || ran.Load() != 1 {
			t.Errorf("ran %d times after %v, want once when lease and margin are over", ran.Load(), took)
		}
		close(release)
		isA[*dedup.LostError](t, <-stuck)
		check.Is(t, check.Get(d.Once(t.Context(), "a", never(t))).Value, "second")
	})
}
