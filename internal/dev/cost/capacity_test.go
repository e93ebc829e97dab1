package cost

import (
	"math"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// What one queue takes, worked out by hand of the units that are measured: an item of 100 has
// 0.03 units a message, a hundredth of which moves the cursor.
func TestOneQueue(t *testing.T) {
	for batch, want := range map[int]float64{2: 2_000, 5: 5_000, 25: 25_000, 100: 50_000, 500: 500_000.0 / 7} {
		w := Workload{Rate: want, Batch: batch, Disorder: InOrder, Queues: 1}
		got := w.AppendRate()
		check.That(t, math.Abs(got-want) <= 1, "%d %.0f %.0f", batch, got, want)
		w.Rate = math.Floor(w.AppendRate())
		err := w.Check()
		check.That(t, err == nil, "%v", err)
		w.Rate += 2
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), "that are one item, so write queues 2 or more") {
			t.Errorf("batches of %d, %g a second: error %v", batch, w.Rate, err)
		}
	}
	for _, w := range []Workload{
		{Rate: 1001, Batch: 1, Disorder: InOrder, Queues: 1},
		{Rate: 1001, Batch: 25, Disorder: Window8, Queues: 1},
		{Rate: 1001, Batch: 25, Disorder: InOrder, Keyed: true, Queues: 1},
	} {
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), "a queue takes 1000 messages a second at most, so write queues 2 or more") {
			t.Errorf("%+v: error %v", w, err)
		}
	}
}
