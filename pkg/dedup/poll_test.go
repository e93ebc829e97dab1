package dedup_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// TestDelays: how long a caller waits between its looks, and in all.
func TestDelays(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		poll   dedup.Poll
		random float64
		want   []time.Duration
	}{
		"linear":              {dedup.Linear(30*ms, 100*ms), 0, []time.Duration{30 * ms, 30 * ms, 30 * ms, 10 * ms}},
		"linear, jittered":    {dedup.Linear(40*ms, 100*ms), 0.5, []time.Duration{35 * ms, 35 * ms, 30 * ms}},
		"exponential":         {dedup.Exponential(10*ms, 2, 100*ms), 0, []time.Duration{10 * ms, 20 * ms, 40 * ms, 30 * ms}},
		"exponential by half": {dedup.Exponential(16*ms, 1.5, 50*ms), 0, []time.Duration{16 * ms, 24 * ms, 10 * ms}},
		"no wait":             {dedup.NoWait(), 0, nil},
		"huge factor":         {dedup.Exponential(ms, 100, 200*ms), 0, []time.Duration{ms, 100 * ms, 99 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			store := dedup.NewMemory()
			check.Get(process(t, store, nil).TryStart(t.Context(), "a"))
			var slept []time.Duration
			d := process(t, store, &options{
				Poll: c.poll, Random: func() float64 { return c.random },
				Sleep: func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil },
			})
			_, err := d.Once(t.Context(), "a", never(t))
			isA[*dedup.StillRunningError](t, err)
			check.Is(t, cmp.Diff(c.want, slept), "")
		})
	}
}

// TestPace: the first look of the default wait comes when such effects usually
// end, and not much later where this one is shorter; a wait that was asked for
// stays as it is.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		poll  dedup.Poll
		took  time.Duration
		age   time.Duration
		first time.Duration
	}{
		"nothing known":      {dedup.Poll{}, 0, 0, 100 * time.Millisecond},
		"a second":           {dedup.Poll{}, 1600 * time.Millisecond, 0, 1700 * time.Millisecond},
		"half of it over":    {dedup.Poll{}, 1600 * time.Millisecond, 800 * time.Millisecond, 900 * time.Millisecond},
		"all of it over":     {dedup.Poll{}, 1600 * time.Millisecond, 4 * time.Second, 100 * time.Millisecond},
		"the owner is ahead": {dedup.Poll{}, 1600 * time.Millisecond, -time.Minute, 1700 * time.Millisecond},
		"longer":             {dedup.Poll{}, 20 * time.Second, 0, 2 * time.Second},
		"as asked for":       {dedup.Linear(30*time.Millisecond, time.Second), 16 * time.Second, 0, 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := dedup.NewMemory()
				var slept []time.Duration
				d := process(t, store, &options{
					Poll: c.poll, Random: func() float64 { return 0 },
					Sleep: func(_ context.Context, d time.Duration) error { slept = append(slept, d); return context.Canceled },
				})
				if c.took > 0 {
					check.Get(d.Once(t.Context(), "before", func(context.Context) (string, error) {
						bubble.Sleep(c.took)
						return "x", nil
					}))
				}
				ahead := process(t, store, &options{Now: func() time.Time { return time.Now().Add(max(-c.age, 0)) }})
				check.Get(ahead.TryStart(t.Context(), "a"))
				bubble.Sleep(max(c.age, 0))
				_, err := d.Once(t.Context(), "a", never(t))
				isA[*dedup.StillRunningError](t, err)
				check.Is(t, cmp.Diff([]time.Duration{c.first}, slept), "")
			})
		})
	}
}
