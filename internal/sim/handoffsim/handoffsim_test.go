package handoffsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/sim/handoffsim"
)

func TestEverySmallSchedule(t *testing.T) {
	for _, scenario := range handoffsim.Small() {
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
		if failure := handoffsim.Shuffled(seed).Random(seed); failure != nil {
			t.Fatal(failure)
		}
	}
}
