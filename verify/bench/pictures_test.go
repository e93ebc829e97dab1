package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/figures"
)

// TestThePicturesAreWhatIsCounted holds the pictures of docs/reference/figures.md to a count, as internal/dev/figures holds the
// page.
func TestThePicturesAreWhatIsCounted(t *testing.T) {
	tables, err := figures.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const root = "../.."
	all, err := pictures(tables)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range all {
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what is counted now (go run ./verify/bench -only counts draws it): %v", path, err)
		}
	}
}
