package trackedsim

import (
	"testing"

	"github.com/streamsort/streamsort/verify/sim/simtest"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Small()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, Shuffled, 10_000) }

// TestTraceClaimRepeatedOnANewConsumer: the SDK repeats a claim after its consumer
// was removed and made anew, and it is made again under the very same token. Its
// chain was ended in advance by a look at the first one: nothing is delivered,
// and the claim fails.
func TestTraceClaimRepeatedOnANewConsumer(t *testing.T) {
	const seed = 1065526883432
	if failure := Shuffled(seed).Random(seed); failure != nil {
		t.Fatal(failure)
	}
}

// TestTraceEndOfAnEarlierConsumersChain: the record of a chain's end is handed out
// twice. In between its consumer is removed and made anew, and claims under the same
// number: the second time it must end nothing. A chain has the whole token for its
// tag, and the code that ends a claim asks for the whole token.
func TestTraceEndOfAnEarlierConsumersChain(t *testing.T) {
	simtest.EverySchedule(t, scenario("made anew", 1, 1, func(m *model) {
		m.all()
		m.remaker()
	}))
}
