package figures_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/figures"
)

// TestOneTableAgain: a table that is measured anew takes its old place, and the page keeps the others.
func TestOneTableAgain(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "docs", "reference", "figures.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	page := figures.At(root)
	table := func(title, ours string) figures.Measured {
		return figures.Measured{Title: title, About: "A.", Case: "case", Rows: []figures.MeasuredRow{{Name: "a", Limit: "1", Ours: ours, Ratio: 1}}}
	}
	if err := page.Measured([]figures.Measured{table("One", "first"), table("Two", "second"), table("Three", "third")}); err != nil {
		t.Fatal(err)
	}
	for _, again := range []figures.Measured{table("Two", "2nd"), table("Four", "4th")} {
		if err := page.MeasuredAgain(again); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	for _, next := range []string{"before\n", "## One", "first", "## Two", "2nd", "## Three", "third", "## Four", "4th", "<!-- measured: end -->\nafter\n"} {
		at := strings.Index(rest, next)
		if at < 0 {
			t.Fatalf("no %q where it belongs in\n%s", next, text)
		}
		rest = rest[at:]
	}
	if strings.Contains(string(text), "old") || strings.Contains(string(text), "second") {
		t.Errorf("what was there before is there:\n%s", text)
	}
	bad := table("Two", "3rd")
	bad.Rows[0].Ratio = 2
	if err := page.MeasuredAgain(bad); err == nil || !strings.HasPrefix(err.Error(), "Two: a: ") {
		t.Errorf("without a reason: %v", err)
	}
}
