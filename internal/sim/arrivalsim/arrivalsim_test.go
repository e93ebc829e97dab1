package arrivalsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/sim/arrivalsim"
)

func TestEverySmallSchedule(t *testing.T) {
	for _, scenario := range arrivalsim.Small() {
		t.Run(scenario.Name, func(t *testing.T) {
			states, failure := scenario.Explore(nil)
			if failure != nil {
				t.Fatal(failure)
			}
			t.Logf("%d states", states)
		})
	}
}

func TestRandomSchedules(t *testing.T) {
	for seed := uint64(1); seed <= 20_000; seed++ {
		if failure := arrivalsim.Shuffled(seed).Random(seed); failure != nil {
			t.Fatal(failure)
		}
	}
}
