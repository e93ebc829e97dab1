package deliverysim

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Small()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, Shuffled, 10_000) }
