//go:build whole

package sources

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// A program's files are its own, those of what it imports, and what they embed.
func TestList(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module example.com/one\n\ngo 1.26\n",
		"p/main.go":     "package main\n\nimport _ \"example.com/one/q\"\n\nfunc main() {}\n",
		"p/p_test.go":   "package main\n",
		"q/q.go":        "package q\n\nimport _ \"embed\"\n\n//go:embed text\nvar Text string\n",
		"q/text":        "text",
		"other/main.go": "package main\n",
	} {
		path := filepath.Join(root, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	files, err := List(t.Context(), root, format, []string{"./p"})
	check.OK(t, err)
	var got []string
	for _, file := range files {
		name := check.Get(filepath.Rel(root, file))
		got = append(got, filepath.ToSlash(name))
	}
	slices.Sort(got)
	check.Is(t, cmp.Diff([]string{"p/main.go", "q/q.go", "q/text"}, got), "")
	err = Note(t.Context(), root, "./p")
	check.That(t, err == nil, "%v", err)
}
