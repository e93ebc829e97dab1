package cursor_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// unreadable makes these queues, with a gap open in each, and gives the cursor of b a layout of a
// later time.
func (b *bench) unreadable(queues ...string) {
	b.t.Helper()
	for _, queue := range queues {
		for _, seq := range []int64{1, 3} {
			b.put(in(queue, body(seq)))
		}
	}
	check.Get(b.tables.Do(b.t.Context(), ddb.Update{
		Op:  ddb.Op{Op: "newer layout", Table: &cursor.Names{}.Tables()[1]},
		Key: ddb.Fields{"queue": ddb.Text("b")}.Item(),
		Do:  []ddb.Action{ddb.Path("v").Set(ddb.Int(99))},
	}))
}

// TestACursorThatCannotBeReadIsPassedOver by all rounds: each handles the queues before it and
// behind it, says that it failed, and ends.
func TestACursorThatCannotBeReadIsPassedOver(t *testing.T) {
	const retention = 8 * time.Hour
	b := newBench(t, func(o *cursor.Options) { o.Retention = retention })
	b.unreadable("a", "b", "c")
	b.now = b.now.Add(5 * time.Hour)
	visited := map[string]int{}
	report, err := b.process(cursor.Options{Retention: retention}).Sweep(t.Context(),
		cursor.SweepOptions{
			Segments: 1,
			Beside: cursor.Beside{Visit: func(_ context.Context, c cursor.Cursor, _ bool,
				_ *tally.Tally) error {
				visited[c.Queue]++
				return nil
			}},
			Delivered: func(context.Context, string) (int64, bool, error) { return 0, true, nil },
		})
	check.That(t, err != nil && strings.Count(err.Error(), `queue "b"`) == 3,
		"error %v, want each round to name the queue", err)
	check.That(t, report.Round.Ended && report.OpenGaps == 2 && report.Failed == 3 &&
		report.Kept == 4 && report.Queues == 4,
		"%+v; want rounds that ended, two gaps, 3 failures, 4 kept", report)
	check.That(t, visited["a"] == 2 && visited["c"] == 2,
		"visited %v, want a and c by both rounds", visited)
}

// TestACursorThatCannotBeReadWidensNoRound: rounds that tell of it, each of them, do not look at
// all that moved since the first. The full round does, which leaves out what was quiet.
func TestACursorThatCannotBeReadWidensNoRound(t *testing.T) {
	b := newBench(t, nil)
	b.unreadable("a", "b")
	var visits []int
	for range 3 {
		visited := 0
		_, err := b.sorter.Sweep(t.Context(), cursor.SweepOptions{
			Beside: cursor.Beside{Visit: func(_ context.Context, _ cursor.Cursor, full bool,
				_ *tally.Tally) error {
				if !full {
					visited++
				}
				return nil
			}},
		})
		check.Need(t, err != nil, "a round does not tell of the cursor that it cannot read")
		visits = append(visits, visited)
		b.now = b.now.Add(time.Hour)
	}
	if !slices.Equal(visits, []int{1, 1, 0}) { // the second round looks back at the first
		t.Errorf("visits %v, want none by the third round", visits)
	}
	for _, name := range []string{"gaps", "full"} {
		progress := check.Get(b.memory.Inside().SweepProgress(t.Context(), name))
		check.Is(t, progress.Failed, name == "full", name, progress)
	}
}
