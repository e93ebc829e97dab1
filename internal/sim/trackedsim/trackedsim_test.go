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

// TestTraceClaimRepeatedOnANewConsumer: the SDK repeats a claim after its consumer
// was removed and made anew, and it is made again under the very same token. Its
// chain was ended in advance by whoever looked at the first one: nothing is handed
// on, and the claim fails.
func TestTraceClaimRepeatedOnANewConsumer(t *testing.T) {
	const seed = 1065526883432
	if failure := Shuffled(seed).Random(seed); failure != nil {
		t.Fatal(failure)
	}
}
