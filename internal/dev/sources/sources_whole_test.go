//go:build whole

package sources

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := list(t.Context(), root, []string{"./p"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(name))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"p/main.go", "q/q.go", "q/text"}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := Note(t.Context(), root, "./p"); err != nil {
		t.Error(err)
	}
}
