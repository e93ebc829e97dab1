// Package simtest has the tests that every suite of the simulator has: call [Small] and [Random]
// for what it runs, and [EverySchedule] for a trace.
package simtest

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/verify/sim"
)

// fewStates is how many states of a scenario are walked without the tag whole.
const fewStates = 500

// EverySchedule walks the first states of a scenario; with the tag whole, all of them. One in which
// nothing happens fails too.
func EverySchedule(t *testing.T, s sim.Scenario) {
	t.Helper()
	var more func(states int) bool
	if !whole.Tests {
		more = func(states int) bool { return states < fewStates }
	}
	states, failure := s.Explore(more)
	if failure != nil {
		t.Fatal(failure)
	}
	if states < 2 {
		t.Errorf("%d states: nothing happens here", states)
	}
	t.Logf("%d states", states)
}

// Small is [EverySchedule] of each scenario, in a test of its own; one per processor at a time.
func Small(t *testing.T, scenarios []sim.Scenario) {
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			EverySchedule(t, s)
		})
	}
}

// Random walks a random schedule of each scenario, of a tenth of the seeds from 1 on; with the tag
// whole, of all of them.
func Random(t *testing.T, scenario func(seed uint64) sim.Scenario, runs uint64) {
	t.Helper()
	t.Parallel()
	if !whole.Tests {
		runs /= 10
	}
	for seed := uint64(1); seed <= runs; seed++ {
		if failure := scenario(seed).Random(seed); failure != nil {
			t.Fatal(failure)
		}
	}
}
