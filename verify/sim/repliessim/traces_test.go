package repliessim

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/verify/sim/simtest"
)

// The traces by which other designs fail. Each is a scenario of its own, walked whole; its wrong
// variant is planted in verify/mutant.

func trace(t *testing.T, faults int, messages int64, actors ...func(*model)) {
	t.Helper()
	simtest.EverySchedule(t, scenario(t.Name(), faults, messages, actors...))
}

// TestTraceP1: a pushed consumer's replies are sent before the decision. Its claim is taken over in
// between: the answer of a claim that is cancelled is visible.
func TestTraceP1(t *testing.T) {
	trace(t, 1, 1, pushed(1, "P"), ticks(overLease))
}

// TestTraceP2P8: the claim is finished before they are sent (P2), or decided before they are staged
// (P8). Its process dies in between, and nobody ever sends them.
func TestTraceP2P8(t *testing.T) {
	trace(t, 1, 1, pushed(1, "P"))
}

// TestTraceP3P5P7: P2 in two phases (P3); a claim is settled by its marker, and without its replies
// (P5); they are stored at the prepare, and the transaction is rolled back (P7).
func TestTraceP3P5P7(t *testing.T) {
	trace(t, 1, 1, pulling(0, "P"))
}

// TestTraceP4P9: the id of a reply has no token in it. What a claim staged that was taken over
// stands under it, and swallows the answer of the next claim (P4). A claim that is decided is taken
// over, and its messages are answered by two claims (P9).
func TestTraceP4P9(t *testing.T) {
	trace(t, 1, 1, pushed(2, "P"), ticks(overLease))
}

// TestTraceP6: a commit whose answer was lost is repeated when its replies have expired: they are
// stored again.
func TestTraceP6(t *testing.T) {
	trace(t, 1, 1, pulling(1, "P"), (*model).expiry)
}

// TestTraceP10: a claim that is decided is given back because a reply could not be sent.
func TestTraceP10(t *testing.T) {
	trace(t, 1, 2, func(m *model) { m.byNumber = true }, pushed(2, "P"), ticks(time.Second))
}
