package dedupsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/sim/dedupsim"
)

func TestEverySmallSchedule(t *testing.T) {
	for _, scenario := range dedupsim.Small() {
		t.Run(scenario.Name, func(t *testing.T) {
			states, failure := scenario.Explore(nil)
			if failure != nil {
				t.Fatal(failure)
			}
			if states < 2 {
				t.Errorf("%d states: nothing happens here", states)
			}
			t.Logf("%d states", states)
		})
	}
}

func TestRandomSchedules(t *testing.T) {
	for seed := uint64(1); seed <= 20_000; seed++ {
		if failure := dedupsim.Shuffled(seed).Random(seed); failure != nil {
			t.Fatal(failure)
		}
	}
}
