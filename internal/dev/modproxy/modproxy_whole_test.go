//go:build whole

package modproxy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestWrite makes a release of a repository with three modules, one of which no release tags.
// Another tree is another version.
func TestWrite(t *testing.T) {
	repository := t.TempDir()
	write(t, repository, map[string]string{
		"go.mod":          "module " + Root + "\n\ngo 1.26.0\n",
		"pkg/a/a.go":      "package a\n\nconst A = 1\n",
		"deep/b/go.mod":   "module " + Root + "/deep/b\n\ngo 1.26.0\n\nrequire " + Root + " v0.1.0\n",
		"deep/b/b.go":     "package b\n\nimport \"" + Root + "/pkg/a\"\n\nconst B = a.A + 1\n",
		"deep/b/go.work":  "go 1.26.0\n\nuse .\n\nreplace " + Root + " => ../..\n",
		"examples/go.mod": "module example.com/c\n\ngo 1.26.0\n",
		".gitignore":      "ignored/\n",
		"ignored/x.go":    "package x\n",
	})
	check.OK(t, exec.Command("git", "init", "-q", repository).Run())
	p, err := Write(t.TempDir(), repository)
	check.OK(t, err)
	t.Cleanup(func() {
		err := p.Forget()
		check.That(t, err == nil, "%v", err)
	})
	want := []string{Root, Root + "/deep/b"}
	check.That(t, slices.Equal(p.Modules, want), "modules %q; want %q", p.Modules, want)
	write(t, repository, map[string]string{"pkg/a/a.go": "package a\n\nconst A = 2\n"})
	other := check.Get(Write(t.TempDir(), repository))
	check.That(t, other.Version != p.Version, "%+v", other)
	write(t, repository,
		map[string]string{"deep/b/go.mod": "module " + Root + "/deep/b\n\ngo 1.26.0\n\nreplace " + Root +
			" => ../..\n"})
	if _, err := Write(t.TempDir(), repository); err == nil ||
		!strings.Contains(err.Error(), "deep/b/go.mod replaces "+Root) {
		t.Errorf("a module that replaces another: error %v", err)
	}
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		check.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
		check.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
}
