package repliessim

import (
	"testing"

	"github.com/streamsort/streamsort/internal/sim"
)

// everySchedule walks all of a scenario.
func everySchedule(t *testing.T, s sim.Scenario) {
	t.Helper()
	states, failure := s.Explore(nil)
	if failure != nil {
		t.Fatal(failure)
	}
	t.Logf("%s: %d states", s.Name, states)
}

func TestEverySmallSchedule(t *testing.T) {
	for _, s := range Small() {
		t.Run(s.Name, func(t *testing.T) { everySchedule(t, s) })
	}
}

func TestRandomSchedules(t *testing.T) {
	runs := uint64(10_000)
	if testing.Short() {
		runs = 1_000
	}
	for seed := uint64(1); seed <= runs; seed++ {
		if failure := Shuffled(seed).Random(seed); failure != nil {
			t.Fatal(failure)
		}
	}
}
