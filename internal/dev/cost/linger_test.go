package cost

import (
	"strings"
	"testing"
)

// TestLinger: how many times cheaper single messages are by pkg/producer than single puts; a thousand a second, with one
// consumer, where batches are one item. docs/reference/cost.md has what they cost.
func TestLinger(t *testing.T) {
	for _, c := range []struct {
		queues        int
		linger, least float64
	}{{1, 0.010, 9}, {4, 0.010, 3}, {4, 0.020, 5}, {16, 0.010, 1.8}, {16, 0.050, 4}, {16, 0.100, 5.8}} {
		w := singly(c.queues)
		single := aMillion(t, w)
		w.Linger = c.linger
		if got := w.per(oursAppended); single/got < c.least {
			t.Errorf("%d queues, %gs: $%.3f a million, singly $%.3f: %.2f times, want %g", c.queues, c.linger, got, single, single/got, c.least)
		}
	}
}

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
