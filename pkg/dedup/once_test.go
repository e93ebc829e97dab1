package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/dedup"
)

type options = dedup.Options[string, string]

// process is a Deduplicator as one process has it.
func process(t testing.TB, store dedup.Store, o *options) *dedup.Deduplicator[string, string] {
	t.Helper()
	return check.Get(dedup.New(store, "payments", o))
}

// meetsNew lets a process meet so many new ids that it claims first.
func meetsNew(t testing.TB, d *dedup.Deduplicator[string, string]) {
	t.Helper()
	for i := range 4 {
		check.Get(d.Once(t.Context(), fmt.Sprint("new-", i), answers("x")))
	}
}

// returns is an effect that returns a value, and counts how often it ran.
func returns(value string, ran *atomic.Int64) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { ran.Add(1); return value, nil }
}

func failsWith(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

// never is an effect that must not run.
func never(t testing.TB) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { t.Error("the effect ran"); return "", nil }
}

func TestOnceRunsOnce(t *testing.T) {
	var ran atomic.Int64
	store := dedup.NewMemory()
	d := process(t, store, nil)
	first := check.Get(d.Once(t.Context(), "a", returns("1", &ran)))
	check.That(t, first.Value == "1" && !first.Replayed && first.Attempt == 1, "first: %+v", first)
	for _, other := range []*dedup.Deduplicator[string, string]{d, process(t, store, nil),
		process(t, store, &options{CacheSize: 1})} {
		second := check.Get(other.Once(t.Context(), "a", returns("2", &ran)))
		check.That(t, second.Value == "1" && second.Replayed && !second.Omitted &&
			!second.CompletedAt.IsZero(), "second: %+v", second)
	}
	refunds := check.Get(dedup.New[string, string](store, "refunds", nil))
	out := check.Get(refunds.Once(t.Context(), "a", returns("3", &ran)))
	check.That(t, out.Value == "3" && !out.Replayed, "another processor: %+v", out)
	check.That(t, ran.Load() == 2, "ran %d times, want once a processor", ran.Load())
}

// TestWaiterNeverRuns: a wait that ends is an error with the owner's deadline.
func TestWaiterNeverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		lease := time.Minute
		started := check.Get(process(t, store, &options{Lease: lease}).TryStart(t.Context(), "a"))
		for name, o := range map[string]*options{
			"no wait":  {Lease: lease, Wait: dedup.NoWait},
			"its last": {Lease: lease, Wait: 9 * time.Second},
		} {
			began := time.Now()
			_, err := process(t, store, o).Once(t.Context(), "a", never(t))
			busy := check.As[*dedup.StillRunningError](t, err)
			check.That(t, busy.Until.Equal(started.Attempt.Run().LeaseUntil) && busy.Cause == nil,
				"%s: until %v, cause %v; want until %v", name, busy.Until, busy.Cause,
				started.Attempt.Run().LeaseUntil)
			check.That(t, name != "its last" || time.Since(began) == 9*time.Second,
				"waited %v, want 9 s", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := process(t, store, &options{Lease: lease}).Once(ctx, "a", never(t))
		check.IsA[*dedup.StillRunningError](t, err)
		check.Is(t, time.Since(began), 2500*time.Millisecond, "waited, with 3 s left")
		ended, stop := context.WithCancel(t.Context())
		go func() { bubble.Sleep(150 * time.Millisecond); stop() }()
		_, err = process(t, store, &options{Lease: lease}).Once(ended, "a", never(t))
		check.IsA[*dedup.StillRunningError](t, err)
		check.Fails(t, err, context.Canceled)
	})
}

// TestZombie: an owner whose lease is over, and whose key was taken over, changes nothing any more.
func TestZombie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		o := &options{Lease: time.Second}
		zombie := check.Get(process(t, store, o).TryStart(t.Context(), "a")).Attempt
		bubble.Sleep(3 * time.Second)
		var second dedup.Run
		out, err := process(t, store, o).Once(t.Context(), "a",
			func(ctx context.Context) (string, error) {
				second, _ = dedup.RunOf(ctx)
				for name, err := range map[string]error{
					"complete": zombie.Complete(ctx, "zombie"),
					"fail":     zombie.Fail(ctx, errors.New("zombie")),
					"extend":   zombie.Extend(ctx, time.Minute),
				} {
					lost := check.As[*dedup.LostError](t, err)
					check.That(t, lost.Attempt == 1 && lost.Fence == zombie.Run().Fence, "%s: %+v", name, lost)
				}
				return "second", nil
			})
		check.That(t, err == nil && out.Value == "second" && out.Attempt == 2 && second.Attempt == 2 &&
			second.Fence > zombie.Run().Fence, "%+v of %+v, %v", out, second, err)
		check.IsA[*dedup.LostError](t, zombie.Complete(t.Context(), "zombie"))
		check.Is(t, check.Get(process(t, store, o).Once(t.Context(), "a", never(t))).Value, "second")
	})
}

// TestLateCompletionBeforeATakeover stands: nobody else has begun.
func TestLateCompletionBeforeATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		d := process(t, store, &options{Lease: time.Second})
		attempt := check.Get(d.TryStart(t.Context(), "a")).Attempt
		bubble.Sleep(time.Minute)
		for range 2 {
			check.OK(t, attempt.Complete(t.Context(), "late"))
		}
		for name, err := range map[string]error{
			"fail": attempt.Fail(t.Context(), errors.New("x")), "extend": attempt.Extend(t.Context(), time.Second),
		} {
			check.That(t, errors.Is(err, dedup.ErrEnded), "%s after complete: %v, want ErrEnded", name, err)
		}
		again := check.Get(d.TryStart(t.Context(), "a"))
		check.That(t, again.Attempt == nil && again.Duplicate.Value == "late", "%+v", again)
	})
}

func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		o := &options{Lease: time.Second, Wait: dedup.NoWait}
		attempt := check.Get(process(t, store, o).TryStart(t.Context(), "a")).Attempt
		for range 3 {
			bubble.Sleep(900 * time.Millisecond)
			check.OK(t, attempt.Extend(t.Context(), time.Minute))
		}
		until := attempt.Run().LeaseUntil
		check.That(t, until.Equal(time.Now().Add(time.Minute)), "lease until %v", until)
		err := attempt.Extend(t.Context(), time.Second)
		check.That(t, err == nil && !attempt.Run().LeaseUntil.Before(time.Now().Add(time.Minute)),
			"a shorter one: %v, until %v", err, attempt.Run().LeaseUntil)
		bubble.Sleep(30 * time.Second)
		_, err = process(t, store, o).Once(t.Context(), "a", never(t))
		check.IsA[*dedup.StillRunningError](t, err)
	})
}

// TestLeaseOver: the context of an effect ends with its lease.
func TestLeaseOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		_, err := process(t, store, &options{Lease: time.Second}).Once(t.Context(), "a",
			func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			})
		check.That(t, errors.Is(err, dedup.ErrLeaseOver), "error %v, want ErrLeaseOver", err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		check.Get(process(t, store, nil).Once(ctx, "b", func(ctx context.Context) (string, error) {
			run, _ := dedup.RunOf(ctx)
			check.Is(t, time.Until(run.LeaseUntil), 9500*time.Millisecond)
			return "", nil
		}))
		bubble.Sleep(9495 * time.Millisecond)
		check.Fails(t, check.Err(process(t, store, nil).Once(ctx, "c", never(t))), dedup.ErrNoTime)
	})
}

// TestPanic: an effect that panics has failed, and the panic goes on.
func TestPanic(t *testing.T) {
	var ran atomic.Int64
	d := process(t, dedup.NewMemory(), nil)
	func() {
		defer func() { check.That(t, recover() == "boom", "the panic is gone") }()
		_, _ = d.Once(t.Context(), "a", func(context.Context) (string, error) { panic("boom") })
	}()
	entry := check.Get(d.Status(t.Context(), "a"))
	check.That(t, entry.Status == dedup.Failed &&
		entry.Row.Error == "the effect panicked", "%+v", entry)
	check.Is(t, check.Get(d.Once(t.Context(), "a", returns("2", &ran))).Attempt, 2)
}

// TestEachCallerHasItsOwnDeadline: calls of one process share a wait, and not how long they may
// wait.
func TestEachCallerHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dedup.NewMemory()
		elsewhere, here := process(t, store, &options{Lease: time.Minute}),
			process(t, store, &options{Lease: time.Minute})
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
			check.IsA[*dedup.StillRunningError](t, got.err)
		}
		if got := <-hasty; got.after > 2*time.Second {
			t.Errorf("the hasty one: %+v", got)
		} else {
			check.IsA[*dedup.StillRunningError](t, got.err)
		}
		if got := <-patient; got.err != nil || got.out.Value != "value" {
			t.Errorf("the patient one: %+v, %v after %v", got.out, got.err, got.after)
		}
	})
}

// TestPatienceIsNotDoubled: who has waited for a call of its process that gave up waits no longer
// than it may in all, and asks no more than once again.
func TestPatienceIsNotDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter := ddbtest.NewMeter(memory())
		store := on(t, meter)
		check.Get(process(t, store, nil).TryStart(t.Context(), "a"))
		here := process(t, store, nil)
		began := time.Now()
		answers := make(chan error)
		call := func(ctx context.Context) { _, err := here.Once(ctx, "a", never(t)); answers <- err }
		// The one that asks the table gives up before the others.
		hasty, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go call(hasty)
		synctest.Wait()
		for range 50 {
			go call(t.Context())
		}
		for range 51 {
			check.IsA[*dedup.StillRunningError](t, <-answers)
		}
		took := time.Since(began)
		check.That(t, took <= 15*time.Second, "waited %v, want 15s at most", took)
		claims := meter.Take().Writes
		check.That(t, claims <= 3, "%v claims, want 3 at most", claims)
	})
}

// TestStuckEffectKeepsNobody: an effect that does not return when its lease ends is taken over by
// calls of its own process as well, as it is by others.
func TestStuckEffectKeepsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := process(t, dedup.NewMemory(), &options{Lease: time.Minute, Wait: time.Minute})
		release, stuck := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := d.Once(t.Context(), "a", func(context.Context) (string, error) {
				<-release
				return "late", nil
			})
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
				check.That(t, err == nil, "%v", err)
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
		check.IsA[*dedup.LostError](t, <-stuck)
		check.Is(t, check.Get(d.Once(t.Context(), "a", never(t))).Value, "second")
	})
}

// TestPace: the first look of the default wait comes when such effects usually end, and not much
// later where this one is shorter; a wait that was asked for stays as it is.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		wait  time.Duration
		took  time.Duration
		age   time.Duration
		first time.Duration
	}{
		"nothing known":      {0, 0, 0, 100 * time.Millisecond},
		"a second":           {0, 1600 * time.Millisecond, 0, 1700 * time.Millisecond},
		"half of it over":    {0, 1600 * time.Millisecond, 800 * time.Millisecond, 900 * time.Millisecond},
		"all of it over":     {0, 1600 * time.Millisecond, 4 * time.Second, 100 * time.Millisecond},
		"the owner is ahead": {0, 1600 * time.Millisecond, -time.Minute, 1700 * time.Millisecond},
		"longer":             {0, 20 * time.Second, 0, 2 * time.Second},
		"as asked for":       {time.Second, 16 * time.Second, 0, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := dedup.NewMemory()
				var slept []time.Duration
				d := process(t, store, &options{
					Wait: c.wait, Random: func() float64 { return 0 },
					Sleep: func(_ context.Context, d time.Duration) error {
						slept = append(slept, d)
						return context.Canceled
					},
				})
				if c.took > 0 {
					check.Get(d.Once(t.Context(), "before", func(context.Context) (string, error) {
						bubble.Sleep(c.took)
						return "x", nil
					}))
				}
				ahead := process(t, store, &options{Now: func() time.Time {
					return time.Now().Add(max(-c.age, 0))
				}})
				check.Get(ahead.TryStart(t.Context(), "a"))
				bubble.Sleep(max(c.age, 0))
				check.IsA[*dedup.StillRunningError](t, check.Err(d.Once(t.Context(), "a", never(t))))
				check.Is(t, cmp.Diff([]time.Duration{c.first}, slept), "")
			})
		})
	}
}
