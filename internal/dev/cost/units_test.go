package cost

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// TestSweep measures what a sweep takes of queues that are quiet, by AWS's rules.
func TestSweep(t *testing.T) {
	var names cursor.Names
	tables := ddb.NewMemory(slices.Concat(names.Tables(), []table.Definition{names.ArrivalsTable()},
		delivery.Names{}.Tables())...)
	metered := ddbtest.NewMeter(tables)
	store := check.Get(cursor.NewStore(metered, names))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	sorter := check.Get(cursor.New(store, &cursor.Options{Now: clock, Retention: 14 * 24 * time.Hour}))
	deliverer, err := delivery.New(delivery.NewStore(metered, delivery.Names{}.Tables()), sorter,
		&delivery.Options{Now: clock})
	check.OK(t, err)
	const queues = 20_000
	for i := range queues {
		queue := fmt.Sprintf("queue-%06d", i)
		if _, err := store.Requests(queuelog.Inside{}).CreateCursor(t.Context(), cursor.Cursor{
			Queue: queue, Settings: cursor.DefaultSettings(), Position: 123_456, MaxParked: 123_401,
			MovedAt: now, Announced: -1,
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Requests(queuelog.Inside{}).Move(t.Context(), queue,
			cursor.Range{From: 123_456, To: 123_457}, 123_456, now); err != nil {
			t.Fatal(err)
		}
	}
	sweep := func() ddb.Units {
		t.Helper()
		metered.Take()
		if _, err := deliverer.Sweep(t.Context(),
			delivery.SweepOptions{
				Sorter: cursor.SweepOptions{Every: roundEvery * time.Second},
			}); err != nil {
			t.Fatal(err)
		}
		return metered.Take().Units
	}
	sweep()
	for range 3 { // what is long quiet is so for two full rounds
		now = now.Add(fullEvery * time.Second)
		sweep()
	}
	now = now.Add(roundEvery * time.Second)
	near := func(what string, got, want float64) {
		t.Helper()
		check.That(t, got <= want*1.02+3 && got >= want*0.95, "%s: %.1f read units", what, got)
	}
	near("a round", sweep().Reads-3, queues*scanUnits)
	near("a call between two", sweep().Reads, 3)
	now = now.Add(fullEvery * time.Second)
	near("the full round and another", sweep().Reads-3, queues*(3*scanUnits+fullReads))
}
