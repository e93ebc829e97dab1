package keyedsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/keyedsim"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, keyedsim.Small()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, keyedsim.Shuffled, 20_000) }
