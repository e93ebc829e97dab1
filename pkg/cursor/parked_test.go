package cursor_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestParked: what waits beyond the gap is counted, as far as one request shows, and what was
// skipped there is not. Where there is no gap nothing is asked.
func TestParked(t *testing.T) {
	b := newBench(t, nil)
	meter := ddbtest.NewMeter(b.tables)
	b.engine = meter
	b.sorter = b.process(cursor.Options{})
	began := b.now
	parked := func(want int, wantMore bool, cost ddbtest.Total) {
		t.Helper()
		cur := check.Get(b.sorter.Status(t.Context(), "q"))
		meter.Take()
		waits := check.Get(b.sorter.Waiting(t.Context(), cur))
		check.That(t, want <= 0 || waits.Oldest.Equal(began),
			"the gap is there since %v, want %v", waits.Oldest, began)
		check.That(t, waits.Count == want && waits.More == wantMore,
			"%d parked, more %v; want %d, %v", waits.Count, waits.More, want, wantMore)
		same(t, "cost", meter.Take(), cost)
	}
	b.put(body(1))
	parked(0, false, ddbtest.Total{})
	b.put(body(3))
	b.put(body(5))
	check.Get(b.sorter.Skip(t.Context(), "q", 6, "never comes"))
	b.put(body(7))
	b.now = b.now.Add(time.Hour)
	parked(3, false, ddbtest.Total{Reads: 1, Units: ddb.Units{Reads: 0.5}})
	for seq := int64(8); seq < 1100; seq++ {
		b.put(body(seq))
	}
	parked(999, true, ddbtest.Total{Reads: 1, Units: ddb.Units{Reads: 11}})
}
