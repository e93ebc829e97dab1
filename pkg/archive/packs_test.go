package archive_test

import (
	"testing"

	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestPackedRunsAreArchivedAsMessages, in parts of a run, and come back into queues with such and without.
func TestPackedRunsAreArchivedAsMessages(t *testing.T) {
	s := newShelf(t)
	on := cursor.PacksOn
	for _, queue := range []string{"q", "packed"} {
		if _, err := s.sorter.Configure(t.Context(), queue, cursor.Change{Packs: &on}); err != nil {
			t.Fatal(err)
		}
	}
	var run []cursor.Message
	for seq := range int64(60) {
		run = append(run, message("q", seq+1))
	}
	if _, err := s.sorter.PutGroup(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	s.keep("q", 60, 25, archive.Kept{To: 25, Messages: 25})
	s.keep("q", 60, 100, archive.Kept{To: 60, Messages: 35})
	s.delete("q", 1)
	for _, into := range []string{"packed", "plain"} {
		s.replayed(archive.Range{Queue: "q", From: 1, To: 60, Into: into}, archive.Replayed{Last: 60, Messages: 60})
		s.has(into, 1, 25, 26, 60)
	}
}
