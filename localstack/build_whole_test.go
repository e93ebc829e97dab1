//go:build whole

package localstack

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
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
	write(t, root, files)
	paths, err := planAndBuild(t, l)
	check.OK(t, err)
	seen := map[string]string{}
	for folder, path := range paths {
		check.Is(t, seen[path], "", folder, path)
		seen[path] = folder
		check.That(t, check.Get(os.Stat(path)).Mode().IsRegular(), "%+v %+v", folder, path)
	}
	check.Is(t, len(seen), len(folders))
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
