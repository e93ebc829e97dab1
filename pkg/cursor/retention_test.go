package cursor_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestKeepBack(t *testing.T) {
	b := newBench(t, func(o *cursor.Options) { o.Retention = 8 * time.Hour })
	b.puts(1, 3)
	b.now = b.now.Add(5 * time.Hour)
	b.puts(4, 6)
	back := func(after int64) int64 {
		t.Helper()
		kept, err := b.sorter.Steps().KeepBack(t.Context(), "q", after, 6)
		check.Need(t, err == nil && !kept.More, "%v, %v", kept, err)
		return kept.To
	}
	same(t, "everything behind 1 is there, and", back(1), 1)
	// 1 was not pushed forward, and expires; 2 and 3 were.
	check.Is(t, b.memory.Expire(b.now.Add(4*time.Hour)), 1)
	missing := back(0)
	check.That(t, missing == 1, "%d is said to be missing, want 1", missing)
	same(t, "of nothing", back(6), 6)
	check.Get(b.memory.Inside().DeleteMessages(t.Context(), "q", 4))
	missing = back(0)
	check.That(t, missing == 4, "%d is said to be missing, want 4", missing)
}

func TestDeleteUpTo(t *testing.T) {
	b := newBench(t, nil)
	b.puts(1, 60)
	for _, want := range []int{40, 10, 0} {
		deleted, err := b.sorter.Steps().DeleteUpTo(t.Context(), "q", 50, 40)
		check.That(t, err == nil && deleted == want, "%d deleted, error %v; want %d", deleted, err, want)
	}
	oldest, found, err := b.sorter.Steps().Oldest(t.Context(), "q")
	check.That(t, err == nil && found && oldest.Seq == 51,
		"the oldest is %d (found %v), error %v; want 51", oldest.Seq, found, err)
	b.want("a late duplicate", b.put(body(7)), "stale 60→60")
}
