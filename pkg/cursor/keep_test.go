package cursor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestSweepGoesOnWithinALargeBacklog: runs that die in the middle of it keep all of it in
// the end, and what others need too.
func TestSweepGoesOnWithinALargeBacklog(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	const last = 3500
	for first := int64(1); first <= last; first += 500 {
		var group []cursor.Message
		for seq := first; seq < first+500; seq++ {
			group = append(group, body(seq))
		}
		_, err := b.sorter.PutGroup(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
	}
	b.now = b.now.Add(5 * time.Hour)
	killed := errors.New("killed")
	kept, runs := 0, 0
	for ; kept < last && runs < 6; runs++ {
		// A run dies when it has pushed the expiry of so many.
		left := 1100
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if r.Name() == "keep message" {
				left--
			}
			if left < 0 {
				return ddb.Answer{}, killed
			}
			return b.tables.Do(ctx, r)
		})
		report, err := b.process(cursor.Options{Retention: 8 * time.Hour}).Sweep(t.Context(), cursor.SweepOptions{
			Segments: 1, Delivered: func(context.Context, string) (int64, bool, error) { return 0, true, nil },
		})
		if (err != nil) != (left < 0) {
			t.Fatalf("%+v, %v", report, err)
		}
		kept += report.Kept
	}
	if kept != last || runs != 4 {
		t.Errorf("%d are kept after %d runs, want %d after 4", kept, runs, last)
	}
}
