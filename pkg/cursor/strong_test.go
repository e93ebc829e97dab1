package cursor_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// newBehind is a bench of which reads that are not strong show what stood there before; only some
// of them, where only is not nil.
func newBehind(t *testing.T, options cursor.Options, only func(ddb.Request) bool) *bench {
	t.Helper()
	b := newBench(t, nil)
	b.engine = ddbtest.NewStale(b.tables, only)
	b.sorter = b.process(options)
	return b
}

// TestGapsShowsWhatWasJustParked: a producer whose message was parked sees its gap.
func TestGapsShowsWhatWasJustParked(t *testing.T) {
	b := newBehind(t, cursor.Options{}, nil)
	b.put(body(3))
	list, err := b.sorter.Gaps(t.Context(), "q", 1)
	check.That(t, err == nil && len(list.Gaps) == 1 && list.Gaps[0].Missing.To == 2,
		"%+v, %v; want the gap before 3", list, err)
}

// TestWhatWasJustSkippedIsNotFilled: what another process has skipped is announced so.
func TestWhatWasJustSkippedIsNotFilled(t *testing.T) {
	s := cursor.DefaultSettings()
	s.Policy, s.GapAfter = cursor.PolicyAlert, time.Minute
	b := newBehind(t, cursor.Options{Defaults: &s}, func(r ddb.Request) bool {
		return r.Name() == "query messages"
	})
	b.sweep(cursor.SweepOptions{}) // the day's full round
	b.put(body(3))
	b.now = b.now.Add(time.Minute)
	b.announces("open", cursor.SweepOptions{}, "gap.opened/1/q/1 0→2")
	check.Get2(b.sorter.Steps().SkipGap(t.Context(), "q", "lost", time.Minute, 100))
	b.announces("skipped", cursor.SweepOptions{}, "gap.skipped/1/q/1 0→2")
}

// TestArrivalsThatJustCameAreThere: nothing is missing, wherever their places stand.
func TestArrivalsThatJustCameAreThere(t *testing.T) {
	b := newBehind(t, cursor.Options{}, nil)
	b.fill("a", 100)
	if head, found, err := b.sorter.Steps().Oldest(t.Context(), "q"); err != nil || !found ||
		head.Seq != 1 {
		t.Errorf("the oldest is %+v, %v, %v; want 1", head, found, err)
	}
	for _, upTo := range []int64{100, 30} {
		if kept, err := b.sorter.Steps().KeepBack(t.Context(), "q", 0, upTo); err != nil ||
			kept.To != 0 || kept.More {
			t.Errorf("back from %d: %+v, %v; want all", upTo, kept, err)
		}
	}
}
