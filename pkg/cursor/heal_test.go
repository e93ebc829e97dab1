package cursor_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestHealOfAQueueThatStartsAtZero: the position is -1 there, so that 0 is not
// "nothing seen".
func TestHealOfAQueueThatStartsAtZero(t *testing.T) {
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.First, s.Mode = 0, cursor.ModeAsync }))
	b.put(body(2))
	advance, err := b.sorter.Steps().Heal(t.Context(), "q", 2)
	check.That(t, err == nil && advance.Cursor.Position == -1 && advance.Cursor.MaxParked == 2,
		"%+v, %v; want position -1, parked 2", advance, err)
}

// TestRecheckOfAnEmptyQueueThatStartsAtZero: nothing known is not seq 0.
func TestRecheckOfAnEmptyQueueThatStartsAtZero(t *testing.T) {
	b := newBench(t, nil)
	first := int64(0)
	check.Get(b.sorter.Configure(t.Context(), "q", cursor.Change{First: &first}))
	advance, err := b.sorter.Steps().Recheck(t.Context(), "q")
	check.That(t, err == nil && advance.Cursor.Position == -1 && advance.Cursor.MaxParked == -1,
		"%+v, %v; want position and parked -1", advance, err)
}
