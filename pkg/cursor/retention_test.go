package cursor_test

import (
	"context"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestKeepUndelivered(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	b.put(body(2))
	b.put(body(3))
	keep := func() int {
		kept, err := b.sorter.Steps().KeepUndelivered(t.Context(), "q", 0)
		if err != nil {
			t.Fatal(err)
		}
		return kept.Pushed
	}
	if kept := keep(); kept != 0 {
		t.Errorf("young messages: %d pushed", kept)
	}
	b.now = b.now.Add(4*time.Hour + time.Second)
	if kept := keep(); kept != 2 {
		t.Errorf("after half the retention: %d pushed, want 2", kept)
	}
	if gone := b.memory.Expire(b.now.Add(7 * time.Hour)); gone != 0 {
		t.Errorf("%d were deleted", gone)
	}
	b.want("they are there", b.put(body(1)), "advanced 0→3")
}

// TestSweepKeepsWhatTheSlowestConsumerNeeds has messages that were passed, and
// a consumer that is not past them.
func TestSweepKeepsWhatTheSlowestConsumerNeeds(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	for seq := range int64(5) {
		b.put(body(seq + 1))
	}
	b.now = b.now.Add(5 * time.Hour)
	report, err := b.sorter.Sweep(t.Context(), cursor.SweepOptions{
		Delivered: func(context.Context, string) (int64, bool, error) { return 3, true, nil },
	})
	if err != nil || report.Kept != 2 {
		t.Errorf("%d kept, error %v; want 2", report.Kept, err)
	}
	if gone := b.memory.Expire(b.now.Add(4 * time.Hour)); gone != 3 {
		t.Errorf("%d expired, want the 3 that were delivered", gone)
	}
}

func TestKeepBack(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	for seq := range int64(3) {
		b.put(body(seq + 1))
	}
	b.now = b.now.Add(5 * time.Hour)
	for seq := range int64(3) {
		b.put(body(seq + 4))
	}
	back := func(after int64) int64 {
		t.Helper()
		kept, err := b.sorter.Steps().KeepBack(t.Context(), "q", after, 6)
		if err != nil || kept.More {
			t.Fatal(kept, err)
		}
		return kept.To
	}
	if missing := back(1); missing != 1 {
		t.Errorf("everything behind 1 is there, and %d is said to be missing", missing)
	}
	// 1 was not pushed forward, and expires; 2 and 3 were.
	if gone := b.memory.Expire(b.now.Add(4 * time.Hour)); gone != 1 {
		t.Errorf("%d expired, want 1", gone)
	}
	if missing := back(0); missing != 1 {
		t.Errorf("%d is said to be missing, want 1", missing)
	}
	if missing := back(6); missing != 6 {
		t.Errorf("of nothing %d is said to be missing", missing)
	}
	if _, err := b.memory.Inside().DeleteMessages(t.Context(), "q", []int64{4}); err != nil {
		t.Fatal(err)
	}
	if missing := back(0); missing != 4 {
		t.Errorf("%d is said to be missing, want 4", missing)
	}
}

func TestDeleteUpTo(t *testing.T) {
	b := newBench(t, nil)
	for seq := range int64(60) {
		b.put(body(seq + 1))
	}
	for _, want := range []int{40, 10, 0} {
		deleted, err := b.sorter.Steps().DeleteUpTo(t.Context(), "q", 50, 40)
		if err != nil || deleted != want {
			t.Errorf("%d deleted, error %v; want %d", deleted, err, want)
		}
	}
	oldest, found, err := b.sorter.Steps().Oldest(t.Context(), "q")
	if err != nil || !found || oldest.Seq != 51 {
		t.Errorf("the oldest is %d (found %v), error %v; want 51", oldest.Seq, found, err)
	}
	b.want("a late duplicate", b.put(body(7)), "stale 60→60")
}
