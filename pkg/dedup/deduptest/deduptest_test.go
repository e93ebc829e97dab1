package deduptest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduptest"
)

func newShelf() *shelf {
	return &shelf{rows: map[dedup.Key]dedup.Row{}, results: map[dedup.Token][]byte{}}
}

// TestShelfConforms: the shelf is a whole store.
func TestShelfConforms(t *testing.T) {
	deduptest.Run(t, newShelf())
	exports, err := dedup.New(newShelf(), "exports", &dedup.Options[string, string]{CompressOver: -1})
	check.OK(t, err)
	want := strings.Repeat("x", 5000)
	for _, replayed := range []bool{false, true} {
		out, err := exports.Once(t.Context(), "a", func(context.Context) (string, error) {
			return want, nil
		})
		check.That(t, err == nil && out.Value == want && out.Replayed == replayed,
			"%d bytes, replayed %v, %v; want %d, %v", len(out.Value), out.Replayed, err, len(want), replayed)
	}
}
