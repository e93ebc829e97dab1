package cost

import (
	"math"
	"strings"
	"testing"
)

// TestLinger: what the table of docs/cost.md says of single messages by pkg/producer, beside single puts; a thousand
// a second, with one consumer, where batches are one item.
func TestLinger(t *testing.T) {
	for _, c := range []struct {
		queues       int
		linger       float64
		want, single float64
		least        float64 // how many times cheaper than single puts
	}{
		{1, 0.010, 0.32, 3.01, 9},
		{4, 0.010, 0.95, 3.04, 3},
		{4, 0.020, 0.56, 3.04, 5},
		{16, 0.010, 1.60, 3.15, 1.9},
		{16, 0.050, 0.72, 3.15, 4},
		{16, 0.100, 0.49, 3.15, 6},
	} {
		w := singles(c.queues)
		single := aMillion(t, w)
		w.Linger = c.linger
		got := bills(t, w)["packs, one consumer"].Total() / w.Messages() * million
		if math.Abs(got-c.want) > 0.005 || math.Abs(single-c.single) > 0.006 || single/got < c.least {
			t.Errorf("%d queues, %gs: $%.3f a million, want $%.2f; singly $%.3f, want $%.2f; %.2f times, want %g", c.queues, c.linger, got, c.want, single, c.single, single/got, c.least)
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
