package cost

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestLingerIsBounded: by the requests that take so many, and by what can be asked for.
func TestLingerIsBounded(t *testing.T) {
	w := Workload{Rate: 100_000, Batch: 1, Disorder: InOrder, Queues: 1000, Linger: 1}
	check.That(t, w.requests() == 200 && w.batch() == 76, "%g %g", w.requests(), w.batch())
	for linger, want := range map[float64]string{0.0001: "write 1ms to 60s", 61: "write 1ms to 60s"} {
		w.Linger = linger
		err := w.Check()
		check.That(t, err != nil && strings.Contains(err.Error(), want), "%g: %v", linger, err)
	}
	w.Linger, w.Batch = 1, 2
	err := w.Check()
	check.That(t, err != nil && strings.Contains(err.Error(), "write batch 1"), "%v", err)
}
