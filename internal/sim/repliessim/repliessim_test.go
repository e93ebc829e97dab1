package repliessim

import (
	"testing"

	"github.com/streamsort/streamsort/internal/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Small()) }

func TestRandomSchedules(t *testing.T) {
	runs := uint64(10_000)
	if testing.Short() {
		runs = 1_000
	}
	simtest.Random(t, Shuffled, runs)
}
