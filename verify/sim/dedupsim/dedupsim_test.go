package dedupsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/dedupsim"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, dedupsim.Small()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, dedupsim.Shuffled, 20_000) }
