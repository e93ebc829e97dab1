package arrivalsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/arrivalsim"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, arrivalsim.Small()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, arrivalsim.Shuffled, 20_000) }
