package cursor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestSweepGoesOnWithinALargeBacklog: runs that die in the middle of it keep all of it in the end,
// and what others need too.
func TestSweepGoesOnWithinALargeBacklog(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	const last = 3500
	for first := int64(1); first <= last; first += 500 {
		var group []cursor.Message
		for seq := first; seq < first+500; seq++ {
			group = append(group, body(seq))
		}
		check.OK(t, b.sorter.Put(t.Context(), group...)[0].Err)
	}
	b.now = b.now.Add(5 * time.Hour)
	killed := errors.New("killed")
	kept, runs, reads := 0, 0, 0
	for ; kept < last && runs < 6; runs++ {
		// A run dies when it has pushed the expiry of so many.
		left := 1100
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			switch r.Name() {
			case "keep message":
				left--
			case "query messages":
				reads++
			}
			if left < 0 {
				return ddb.Answer{}, killed
			}
			return b.tables.Do(ctx, r)
		})
		report, err := b.process(cursor.Options{Retention: 8 * time.Hour}).Sweep(t.Context(),
			cursor.SweepOptions{
				Segments: 1, Delivered: func(context.Context, string) (int64, bool, error) {
					return 0, true, nil
				},
			})
		check.Need(t, (err != nil) == (left < 0), "%+v, %v", report, err)
		kept += report.Kept
	}
	// What was kept is not even read again, but for the piece at which a run died.
	check.That(t, kept == last && runs == 4 && reads == 8,
		"%d are kept after %d runs and %d reads, want %d after 4 and 8", kept, runs, reads, last)
}
