package dedupsim

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// The traces are ways in which other designs go wrong. Each is a scenario just large enough for it,
// of which every schedule is walked; each has its planted bug in verify/mutant, which makes it
// fail.

// Released while it runs: an operator releases a row by force, and its holder still runs. If its
// fence and token stay good, it completes the row all the same, and a call with another payload,
// for which the release made room, is answered with the result of the first.
func TestTraceReleasedWhileItRuns(t *testing.T) {
	simtest.EverySchedule(t, scenario("released while it runs", 0, settings{}, func(m *model) {
		m.caller("A", call{once, "one"}, call{once, "two"})
		m.caller("B", calls(force)...)
	}))
}
