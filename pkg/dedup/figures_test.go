package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// TestFigures pins what each operation costs.
func TestFigures(t *testing.T) {
	type figure struct {
		writes, reads         int
		writeUnits, readUnits float64
	}
	id := "550e8400-e29b-41d4-a716-446655440000"
	large := incompressible(10_000)
	small := func(t *testing.T, d *dedup.Deduplicator[string, string]) {
		check.Get(d.Once(t.Context(), id, func(context.Context) (string, error) {
			return "receipt 17", nil
		}, []byte("payload")))
	}
	big := func(t *testing.T, d *dedup.Deduplicator[string, string]) {
		check.Get(d.Once(t.Context(), id, answers(large)))
	}
	medium := func(t *testing.T, d *dedup.Deduplicator[string, string]) {
		check.Get(d.Once(t.Context(), id, func(context.Context) (string, error) {
			return incompressible(610), nil
		}, []byte("payload")))
	}
	fails := func(t *testing.T, d *dedup.Deduplicator[string, string]) {
		_, err := d.Once(t.Context(), id, failsWith(errDown))
		check.Need(t, errors.Is(err, errDown), "%v", err)
	}
	started := func(t *testing.T, d *dedup.Deduplicator[string, string]) {
		check.Get(d.TryStart(t.Context(), id))
	}
	type action = func(*testing.T, *dedup.Deduplicator[string, string])
	allNew := func(t *testing.T, d *dedup.Deduplicator[string, string]) { meetsNew(t, d) }
	both := func(first, second action) action {
		return func(t *testing.T, d *dedup.Deduplicator[string, string]) { first(t, d); second(t, d) }
	}
	for _, c := range []struct {
		name    string
		options options
		prepare action
		do      action
		want    figure
	}{
		{"new", options{}, nil, small, figure{2, 1, 2, 0.5}},
		{"new, after new ones", options{}, allNew, small, figure{2, 0, 2, 0}},
		{"duplicate", options{}, small, small, figure{0, 1, 0, 0.5}},
		{"duplicate, after new ones", options{}, both(small, allNew), small, figure{1, 0, 1, 0}},
		{"duplicate, from the cache", options{CacheSize: 10}, small, small, figure{0, 0, 0, 0}},
		{"duplicate, 610 bytes", options{}, medium, medium, figure{0, 1, 0, 0.5}},
		{"new, 10 KB", options{}, allNew, big, figure{3, 0, 2 + 10, 0}},
		{"duplicate, 10 KB", options{}, big, big, figure{0, 2, 0, 0.5 + 1.5}},
		{"duplicate, 10 KB, after new ones", options{}, both(big, allNew), big, figure{1, 1, 1, 1.5}},
		{"duplicate, 10 KB, from the cache", options{CacheSize: 10}, big, big, figure{0, 0, 0, 0}},
		{"effect that fails", options{}, allNew, fails, figure{2, 0, 2, 0}},
		{"after one that failed", options{}, both(fails, allNew), small, figure{2, 0, 2, 0}},
		{"held, without a wait", options{Wait: dedup.NoWait}, started,
			func(t *testing.T, d *dedup.Deduplicator[string, string]) {
				_, err := d.Once(t.Context(), id, never(t))
				check.IsA[*dedup.StillRunningError](t, err)
			}, figure{0, 1, 0, 0.5}},
		{"quarantined", options{MaxAttempts: 1}, fails,
			func(t *testing.T, d *dedup.Deduplicator[string, string]) {
				_, err := d.Once(t.Context(), id, never(t))
				check.IsA[*dedup.QuarantinedError](t, err)
			}, figure{1, 1, 1, 0.5}},
		{"invalidate", options{}, small, func(t *testing.T, d *dedup.Deduplicator[string, string]) {
			check.Get(d.Invalidate(t.Context(), id))
		}, figure{1, 1, 1, 1}},
		{"release", options{}, fails, func(t *testing.T, d *dedup.Deduplicator[string, string]) {
			check.Get(d.Release(t.Context(), id, dedup.Audit{By: "ada", Reason: "why"}))
		}, figure{1, 1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			meter := ddbtest.NewMeter(memory())
			d := process(t, on(t, meter), &c.options)
			if c.prepare != nil {
				c.prepare(t, d)
			}
			meter.Take()
			c.do(t, d)
			total := meter.Take()
			check.Is(t, (figure{total.Writes, total.Reads, total.Units.Writes, total.Units.Reads}), c.want)
		})
	}
}

// TestFiguresOfACrowd pins what 99 waiters cost while one caller runs an effect of a second.
func TestFiguresOfACrowd(t *testing.T) {
	const waiters = 99
	for name, c := range map[string]struct {
		// others is how many processes the waiters are in.
		others        int
		seen, met     bool
		writes, reads float64
	}{
		"a process each": {others: waiters, writes: 2, reads: 0.5 + waiters*5*0.5},
		"a process each, that has seen such an effect": {
			others: waiters, seen: true, writes: 2, reads: 0.5 + waiters*2*0.5,
		},
		"a process each, that has met new ids": {
			others: waiters, met: true, writes: 2 + waiters, reads: waiters * 4 * 0.5,
		},
		"eleven a process": {others: waiters / 11, writes: 2, reads: 0.5 + waiters/11*5*0.5},
		"one process":      {others: 1, writes: 2, reads: 0.5 + 5*0.5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				metered := ddbtest.NewMeter(memory())
				store := on(t, metered)
				processes := make([]*dedup.Deduplicator[string, string], 1+waiters)
				for i := range processes {
					if processes[i] = processes[max(i-c.others, 0)]; i <= c.others {
						processes[i] = process(t, store, nil)
					}
				}
				var wait sync.WaitGroup
				var ran atomic.Int64
				second := func(context.Context) (string, error) {
					bubble.Sleep(time.Second)
					return "value", nil
				}
				for n, d := range processes {
					if c.seen {
						check.Get(d.Once(t.Context(), "before", second))
					}
					if c.met {
						for i := range 4 {
							check.Get(d.Once(t.Context(), fmt.Sprint(n, "-", i), answers("x")))
						}
					}
				}
				metered.Take()
				wait.Go(func() { _, _ = processes[0].Once(t.Context(), "a", second) })
				synctest.Wait()
				began := time.Now()
				for _, d := range processes[1:] {
					wait.Go(func() {
						out, err := d.Once(t.Context(), "a", returns("x", &ran))
						check.That(t, err == nil && out.Value == "value", "%+v, %v", out, err)
					})
				}
				wait.Wait()
				units := metered.Take().Units
				check.That(t, units.Writes == c.writes && units.Reads <= c.reads && ran.Load() == 0,
					"%.1f write and %.1f read units, want %.1f and at most %.1f", units.Writes, units.Reads,
					c.writes, c.reads)
				check.That(t, c.others != 1 || units.Writes+units.Reads <= 5,
					"%.1f units in all, want 5 at most", units.Writes+units.Reads)
				took := time.Since(began)
				check.That(t, took <= 1600*time.Millisecond && (!c.seen || took <= 1200*time.Millisecond),
					"the last one waited %v for an effect of a second", took)
			})
		})
	}
}

// TestFiguresOfStreams pins what a process pays for many calls, by the share of duplicates among
// them and the order in which they come.
func TestFiguresOfStreams(t *testing.T) {
	const calls = 640
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		duplicate func(n int) bool
		// looks are those that were made before a claim of a new id, claims those that were
		// refused.
		looks, claims int
	}{
		"all new":                        {func(int) bool { return false }, 4, 0},
		"all duplicates":                 {func(int) bool { return true }, 0, calls / 64},
		"half, in turn":                  {func(n int) bool { return n%2 == 0 }, calls/2 - calls/64, 0},
		"half, in turn, a new one first": {func(n int) bool { return n%2 == 1 }, calls / 2, calls / 64},
		"half, ten by ten":               {func(n int) bool { return n/10%2 == 0 }, 314, 4},
		"half, at random":                {func(int) bool { return random.IntN(2) == 0 }, 331, 3},
		"new ones, after duplicates":     {func(n int) bool { return n < 64 }, 36, 1},
		"duplicates, after new ones":     {func(n int) bool { return n > 64 }, 4, 2 + 9},
	} {
		t.Run(name, func(t *testing.T) {
			metered := ddbtest.NewMeter(memory())
			d := process(t, on(t, metered), nil)
			check.Get(process(t, on(t, metered), nil).Once(t.Context(), "done", answers("x")))
			var news, duplicates, looks, claims int
			for n := range calls {
				metered.Take()
				if c.duplicate(n) {
					duplicates++
					check.Get(d.Once(t.Context(), "done", never(t)))
					claims += metered.Take().Writes
					continue
				}
				news++
				check.Get(d.Once(t.Context(), fmt.Sprint("new-", n), answers("x")))
				looks += metered.Take().Reads
			}
			check.That(t, looks == c.looks && claims == c.claims,
				"%d looks for %d new ids, want %d; %d refused claims of %d duplicates, want %d", looks,
				news, c.looks, claims, duplicates, c.claims)
			dollars := func(writes, reads int) float64 {
				return meter.Count{Writes: float64(writes), Reads: float64(reads) / 2}.Dollars()
			}
			check.That(t, news <= 0 || dollars(2*news, looks) <= 1.05*dollars(2*news, 0),
				"a new id costs more than 1.05 of two writes")
			if duplicates > 300 && dollars(claims, duplicates-claims) > 1.5*dollars(0, duplicates) {
				t.Error("a duplicate costs more than 1.5 of a look")
			}
		})
	}
}

// TestAHeldIDIsADuplicate: a call that is refused at once because another one runs the effect has
// met a duplicate as well.
func TestAHeldIDIsADuplicate(t *testing.T) {
	metered := ddbtest.NewMeter(memory())
	check.Get(process(t, on(t, metered), nil).TryStart(t.Context(), "a"))
	d := process(t, on(t, metered), &options{Wait: dedup.NoWait})
	meetsNew(t, d)
	for _, want := range []int{1, 0, 0} {
		metered.Take()
		_, err := d.Once(t.Context(), "a", never(t))
		check.IsA[*dedup.StillRunningError](t, err)
		check.Is(t, metered.Take().Writes, want)
	}
}

// agrees is a Store that every write succeeds on.
type agrees struct{ dedup.Store }

func (agrees) Row(context.Context, dedup.Key, bool) (dedup.Row, error) { return dedup.Row{}, nil }

func (agrees) Claim(_ context.Context, c dedup.Claim) (dedup.Row, bool, error) {
	return dedup.Row{Key: c.Key, Token: c.Token, Fence: 1, Attempt: 1, LeaseUntil: c.LeaseUntil}, true,
		nil
}

func (agrees) Swap(_ context.Context, _, next dedup.Row) (dedup.Row, bool, error) {
	return next, true, nil
}

// TestAllocations pins what Once adds to an effect and its store in allocations.
func TestAllocations(t *testing.T) {
	d := process(t, agrees{}, nil)
	n := time.Duration(0)
	effect := func(context.Context) (string, error) { return "receipt", nil }
	if got := testing.AllocsPerRun(200, func() {
		n++
		_, _ = d.Once(t.Context(), n.String(), effect)
	}); got > 25 {
		t.Errorf("%v allocations, want 25 at most", got)
	}
}
