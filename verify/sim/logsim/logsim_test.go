package logsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/logsim"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, logsim.Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, logsim.Suite(), 40_000) }
