package lists

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
)

// TestASummaryIsBounded: rows that have expired and are still there are looked at as well.
func TestASummaryIsBounded(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	store := trouble.NewStore(ddb.NewMemory(trouble.Definition("rows")), trouble.Definition("rows"))
	for i := range maxCounted + 100 {
		row := trouble.Row{State: trouble.Failed, Queue: fmt.Sprintf("%06d", i), Since: now.Add(-time.Hour), ExpiresOn: now.Add(-time.Minute)}
		if i%2 == 0 {
			row.ExpiresOn = now.Add(time.Minute)
		}
		if err := store.Put(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	n, err := count(t.Context(), store, trouble.Failed, "", now)
	if err != nil || n.Count != maxCounted/2 || !n.More {
		t.Errorf("%+v, %v; want %d, and more", n, err, maxCounted/2)
	}
	if n, err = count(t.Context(), store, trouble.Failed, "0000", now); err != nil || n.Count != 50 || n.More {
		t.Errorf("of a prefix %+v, %v; want 50", n, err)
	}
}
