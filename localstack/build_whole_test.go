//go:build whole

package localstack

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/localstack/template"
)

// TestEveryFolderIsBuilt: also those that the go command names no program after, and one inside
// another.
func TestEveryFolderIsBuilt(t *testing.T) {
	root := t.TempDir()
	folders := []string{".", "v2", "jobs", "jobs/mail", "jobs/print"}
	l := &loaded{path: filepath.Join(root, "stack.json"), Template: &template.Template{}}
	files := map[string]string{"go.mod": "module example.com/user\n\ngo 1.26\n"}
	for _, folder := range folders {
		files[folder+"/main.go"] = "package main\n\nfunc main() {}\n"
		l.Functions = append(l.Functions, template.Function{Name: folder, Source: folder})
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := planAndBuild(t, l)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for folder, path := range paths {
		if seen[path] != "" {
			t.Errorf("%s and %s are both built to %s", folder, seen[path], path)
		}
		seen[path] = folder
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: no program at %s: %v", folder, path, err)
		}
	}
	if len(seen) != len(folders) {
		t.Errorf("%d programs of %d folders", len(seen), len(folders))
	}
}

// planAndBuild builds a template's functions as a stack does that starts.
func planAndBuild(t *testing.T, l *loaded) (map[string]string, error) {
	t.Helper()
	config := Config{Logger: slog.New(slog.DiscardHandler)}
	programs, err := plan([]*loaded{l}, config)
	if err != nil {
		return nil, err
	}
	return build(t.Context(), []*loaded{l}, programs, config)
}
