package cursorsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/cursorsim"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, cursorsim.Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, cursorsim.Suite(), 20_000) }
