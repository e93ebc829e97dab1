package dedupsim_test

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/dedupsim"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, dedupsim.Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, dedupsim.Suite(), 20_000) }
