package arrivalsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/sim/arrivalsim"
	"github.com/streamsort/streamsort/internal/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, arrivalsim.Small()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, arrivalsim.Shuffled, 20_000) }
