package cost

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// What one queue takes, worked out by hand of the units that are measured: an item of 100 has
// 0.03 units a message, a hundredth of which moves the cursor.
func TestOneQueue(t *testing.T) {
	for batch, want := range map[int]float64{2: 2_000, 5: 5_000, 25: 25_000, 100: 50_000,
		500: 500_000.0 / 7} {
		w := Workload{Rate: want, Batch: batch, Disorder: InOrder, Queues: 1}
		got := w.AppendRate()
		check.That(t, math.Abs(got-want) <= 1, "%d %.0f %.0f", batch, got, want)
		w.Rate = math.Floor(w.AppendRate())
		err := w.Check()
		check.That(t, err == nil, "%v", err)
		w.Rate += 2
		if err := w.Check(); err == nil ||
			!strings.Contains(err.Error(), "that are one item, so write queues 2 or more") {
			t.Errorf("batches of %d, %g a second: error %v", batch, w.Rate, err)
		}
	}
	for _, w := range []Workload{
		{Rate: 1001, Batch: 1, Disorder: InOrder, Queues: 1},
		{Rate: 1001, Batch: 25, Disorder: Window8, Queues: 1},
		{Rate: 1001, Batch: 25, Disorder: InOrder, Keyed: true, Queues: 1},
	} {
		if err := w.Check(); err == nil ||
			!strings.Contains(err.Error(),
				"a queue takes 1000 messages a second at most, so write queues 2 or more") {
			t.Errorf("%+v: error %v", w, err)
		}
	}
}

// TestTooMuchForSingles: where a queue's rate is possible for batches that are one item only, these
// have a bill, and nothing else of ours has.
func TestTooMuchForSingles(t *testing.T) {
	names := func(w Workload) (all []string) {
		for _, b := range w.Bills() {
			all = append(all, b.Name)
		}
		return all
	}
	w := Workload{Rate: 10_000, Batch: 100, Disorder: InOrder, Queues: 1}
	if got, want := names(w),
		[]string{"append", "append, one consumer", "SQS FIFO"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var out bytes.Buffer
	check.OK(t, w.Write(&out))
	for _, want := range []string{"One queue takes 1000 messages a second",
		"50000 in batches of 100 that are one item", "is left out"} {
		check.That(t, strings.Contains(out.String(), want), "no %q in\n%s", want, &out)
	}
	w.Queues = 10
	got := names(w)
	check.That(t, slices.Contains(got, "sync") && slices.Contains(got, "aws-stream-sort"), "%q", got)
}

// TestMeasured: what the figures say is what is expected, and other units change the tables' part
// alone.
func TestMeasured(t *testing.T) {
	for _, together := range []bool{false, true} {
		w := Workload{Rate: 100, Batch: 25, Disorder: InOrder, Queues: 100}
		name := map[bool]string{false: "sync, one consumer", true: "append, one consumer"}[together]
		b := bills(t, w)[name]
		tables := b.Requests / w.Messages()
		m := w.Measured(Units{Writes: tables / writeUnits}, together)
		whole := (b.Total() - b.Fixed) / w.Messages() * million
		if math.Abs(m.Total-m.Expected) > 1e-9 || math.Abs(m.Tables-tables*million) > 1e-9 ||
			m.Expected > whole || m.Expected < whole-0.01 {
			t.Errorf("%s: %+v, and the bill has $%.4f a million", name, m, whole)
		}
		more := w.Measured(Units{Writes: tables/writeUnits + 1}, together)
		check.That(t, math.Abs(more.Total-m.Total-0.625) <= 1e-9, "%s %.4f", name, more.Total-m.Total)
	}
}
