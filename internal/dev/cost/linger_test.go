package cost

import (
	"strings"
	"testing"
)

// TestLingerIsBounded: by the requests that take so many, and by what can be asked for.
func TestLingerIsBounded(t *testing.T) {
	w := Workload{Rate: 100_000, Batch: 1, Disorder: InOrder, Queues: 1000, Linger: 1}
	if w.requests() != 200 || w.batch() != 76 {
		t.Errorf("%g requests with %g of a queue", w.requests(), w.batch())
	}
	for linger, want := range map[float64]string{0.0001: "write 1ms to 60s", 61: "write 1ms to 60s"} {
		w.Linger = linger
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%g: %v", linger, err)
		}
	}
	w.Linger, w.Batch = 1, 2
	if err := w.Check(); err == nil || !strings.Contains(err.Error(), "write batch 1") {
		t.Error(err)
	}
}
