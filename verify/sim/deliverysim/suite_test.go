package deliverysim

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, Suite(), 10_000) }

// TestLimitT8AZombieReachesASinkThatDoesNotFence shows the limit that the documentation states: a
// sink that takes any token may get an old batch once more after newer ones.
func TestLimitT8AZombieReachesASinkThatDoesNotFence(t *testing.T) {
	_, failure := scenario("T8", 0, 1,
		func(m *model) { m.careless = true }, producer(2), process("P", "Q"), clock(1),
		(*model).hinted).Explore(nil)
	check.That(t, failure != nil && strings.Contains(failure.Error(), ", after one under token "),
		"%v; want a batch under an older token after one under a newer", failure)
}
