package whole_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

var tagged = regexp.MustCompile(`(?m)^//go:build .*\bwhole\b`)

// TestNames: a test file has the tag whole if it is named so. By the names the linter knows which
// tests may start processes.
func TestNames(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git" ||
			entry.Name() == ".build"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head, _, _ := strings.Cut(string(text), "\npackage ")
		has, named := tagged.MatchString(head), strings.HasSuffix(path, "_whole_test.go")
		check.Is(t, has, named, path)
		if has {
			found++
		}
		return nil
	})
	check.That(t, err == nil && found >= 40, "%d files have the tag: %v", found, err)
}
