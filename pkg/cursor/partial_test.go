package cursor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// halving is tables that do half of each batch.
type halving struct{ ddb.Engine }

func (h halving) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	var left []ddb.Item
	switch batch := r.(type) {
	case ddb.BatchGet:
		half := (len(batch.Keys) + 1) / 2
		batch.Keys, left = batch.Keys[:half], batch.Keys[half:]
		r = batch
	case ddb.BatchWrite:
		half := (len(batch.Deletes) + 1) / 2
		batch.Deletes, left = batch.Deletes[:half], batch.Deletes[half:]
		r = batch
	}
	a, err := h.Engine.Do(ctx, r)
	a.Left = left
	return a, err
}

// TestWhatABatchLeavesIsDoneLater: where DynamoDB does a part of a batch only, the rest is read at
// once, and not deleted now.
func TestWhatABatchLeavesIsDoneLater(t *testing.T) {
	b := newBench(t, nil)
	b.fill("a", 60)
	b.engine = halving{b.tables}
	got := b.read(0, 60)
	check.That(t, len(got) == 60 && got[59] == "60 a59 body of a59", "%d are read: %v", len(got), got)
	for seq := range int64(10) {
		m := body(seq + 1)
		m.Queue = "numbered"
		b.put(m)
	}
	s := b.process(cursor.Options{})
	for _, want := range []struct {
		deleted int
		err     error
	}{{5, cursor.ErrThrottled}, {3, cursor.ErrThrottled}, {1, cursor.ErrThrottled}, {1, nil},
		{0, nil}} {
		deleted, err := s.Steps().DeleteUpTo(t.Context(), "numbered", 10, 100)
		check.That(t, deleted == want.deleted && errors.Is(err, want.err),
			"%d deleted, error %v; want %d, %v", deleted, err, want.deleted, want.err)
	}
}
