package xoracksim_test

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/simtest"
	"github.com/streamsort/streamsort/verify/sim/xoracksim"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, xoracksim.Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, xoracksim.Suite(), 20_000) }
