package deduptest_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/pages"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduptest"
)

func newShelf() *shelf {
	return &shelf{rows: map[dedup.Key]dedup.Row{}, results: map[dedup.Token][]byte{}}
}

// TestShelfConforms: the store that the page shows is one.
func TestShelfConforms(t *testing.T) {
	deduptest.Run(t, newShelf())
	exports, err := dedup.New(newShelf(), "exports", &dedup.Options[string, string]{CompressOver: -1})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("x", 5000)
	for _, replayed := range []bool{false, true} {
		out, err := exports.Once(t.Context(), "a", func(context.Context) (string, error) { return want, nil })
		if err != nil || out.Value != want || out.Replayed != replayed {
			t.Errorf("%d bytes, replayed %v, %v; want %d, %v", len(out.Value), out.Replayed, err, len(want), replayed)
		}
	}
}

// TestThePageHasTheStore: docs/dedup.md shows the code of the shelf as it is, in 60
// lines at most.
func TestThePageHasTheStore(t *testing.T) {
	text, err := os.ReadFile("shelf_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(text), ")\n\n")
	if lines := len(strings.FieldsFunc(code, func(r rune) bool { return r == '\n' })); lines > 60 {
		t.Errorf("%d lines of code, want 60 at most", lines)
	}
	part := pages.Part{Path: "../../../docs/dedup.md", Begins: "<!-- store: begin -->\n", Ends: "<!-- store: end -->\n"}
	if err := part.Holds("```go\n"+code+"```\n", "nothing but you"); err != nil {
		t.Error(err)
	}
}
