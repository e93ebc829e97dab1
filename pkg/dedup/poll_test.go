package dedup_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
			store := &dedup.Memory{}
			_ = must[dedup.Start[string, string]](t)(process(t, store, nil).TryStart(t.Context(), "a"))
			var slept []time.Duration
			d := process(t, store, &options{
				Poll: c.poll, Random: func() float64 { return c.random },
				Sleep: func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil },
			})
			_, err := d.Once(t.Context(), "a", never(t))
			isA[*dedup.StillRunningError](t, err)
			if diff := cmp.Diff(c.want, slept); diff != "" {
				t.Errorf("slept (-want +got):\n%s", diff)
			}
		})
	}
}
