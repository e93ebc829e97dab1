package trackedsim

import (
	"testing"
)

func TestEverySmallSchedule(t *testing.T) {
	for _, scenario := range Small() {
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
	for seed := uint64(1); seed <= 10_000; seed++ {
		if failure := Shuffled(seed).Random(seed); failure != nil {
			t.Fatal(failure)
		}
	}
}
