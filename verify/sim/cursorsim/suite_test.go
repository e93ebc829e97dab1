package cursorsim

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, Suite(), 20_000) }
