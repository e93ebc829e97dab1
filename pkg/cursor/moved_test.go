package cursor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestMoved: each move of a queue of any kind is reported, with the position; what moves nothing is
// not.
func TestMoved(t *testing.T) {
	var moved []string
	now := time.UnixMilli(1_700_000_000_000)
	store := cursor.NewMemory()
	other := check.Get(cursor.New(store, nil))
	sorter := check.Get(cursor.New(store, &cursor.Options{
		Now: func() time.Time { return now },
		Moved: func(queue string, position int64) {
			moved = append(moved, fmt.Sprint(queue, " ", position))
		},
		ForEach: func(n int, do func(int)) {
			for i := range n {
				do(i)
			}
		},
	}))
	expect := func(what string, want ...string) {
		t.Helper()
		check.That(t, slices.Equal(moved, want), "%s moved %q, want %q", what, moved, want)
		moved = nil
	}
	put := func(messages ...cursor.Message) {
		t.Helper()
		for _, r := range sorter.Put(t.Context(), messages...) {
			check.Need(t, r.Err == nil && r.Deferred == nil, "%v", r)
		}
	}
	put(cursor.Message{Queue: "n", Seq: 2})
	expect("what is parked")
	put(cursor.Message{Queue: "n", Seq: 1})
	expect("what fills a gap", "n 2")
	put(cursor.Message{Queue: "n", Seq: 1})
	expect("a duplicate")
	put(cursor.Message{Queue: "n", Seq: 3}, cursor.Message{Queue: "a", Seq: cursor.NoSeq, ID: "1"},
		cursor.Message{Queue: "a", Seq: cursor.NoSeq, ID: "2"})
	expect("several", "n 3", "a 2")
	if r := other.Put(t.Context(),
		cursor.Message{Queue: "n", Seq: 4})[0]; r.Outcome != cursor.Advanced {
		t.Fatal(r)
	}
	put(cursor.Message{Queue: "n", Seq: 4})
	expect("what another has moved")
	put(cursor.Message{Queue: "a", Seq: 3}, cursor.Message{Queue: "a", Seq: 4})
	expect("what is appended", "a 4")
	put(cursor.Message{Queue: "k", Seq: cursor.NoSeq, ID: "1", KeyParts: []any{1}, KeyType: "number"})
	expect("what waits")
	now = now.Add(time.Minute)
	check.Get(sorter.Settle(t.Context(), "k", sortkey.EverySortKey))
	expect("a settle", "k 1")
	check.Get(sorter.Status(t.Context(), "k"))
	expect("a look")
}
