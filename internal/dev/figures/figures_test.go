package figures_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/figures"
)

// TestThePageIsWhatIsCounted holds docs/reference/figures.md to a count, and the count of orders to what a
// real server's requests come to, by which internal/dev/cost is held.
func TestThePageIsWhatIsCounted(t *testing.T) {
	tables, err := figures.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := figures.At("../../..").Stale(tables); err != nil {
		t.Error(err)
	}
	for i, order := range cost.Orders() {
		row := tables[0].Rows[i]
		ours, older := cost.Producer[order][0], cost.Older[order]
		if d := row.Ours.Dollars() - figures.Units(ours).Dollars(); d > 0.01 || d < -0.01 {
			t.Errorf("%s: %s, and on a server {%g, %g}", row.Name, row.Ours, ours.Writes, ours.Reads)
		}
		if d := row.Older.Dollars() - figures.Units(older).Dollars(); d > 0.01 || d < -0.01 {
			t.Errorf("%s, aws-stream-sort: %s, and on a server {%g, %g}", row.Name, row.Older, older.Writes, older.Reads)
		}
	}
}
