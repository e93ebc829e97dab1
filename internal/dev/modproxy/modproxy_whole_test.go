//go:build whole

package modproxy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWrite makes a release of a repository with three modules, one of which no release tags, and
// builds a user's program of it.
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
	run(t, repository, nil, "git", "init", "-q")
	p, err := Write(t.TempDir(), repository)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Forget(); err != nil {
			t.Error(err)
		}
	})
	if want := []string{Root, Root + "/deep/b"}; !slices.Equal(p.Modules, want) {
		t.Errorf("modules %q; want %q", p.Modules, want)
	}
	environ, err := p.Environ()
	if err != nil {
		t.Fatal(err)
	}
	user := t.TempDir()
	write(t, user, map[string]string{
		"go.mod":  "module example.com/user\n\ngo 1.26.0\n",
		"main.go": "package main\n\nimport \"" + Root + "/deep/b\"\n\nfunc main() { println(b.B) }\n",
	})
	run(t, user, environ, "go", "get", Root+"/deep/b@"+p.Version)
	if said := run(t, user, environ, "go", "run", "."); said != "2\n" {
		t.Errorf("the user's program says %q", said)
	}
	if said := run(t, user, environ, "go", "list", "-m", Root); said != Root+" "+p.Version+"\n" {
		t.Errorf("the root's version is %q", said)
	}

	write(t, repository, map[string]string{"pkg/a/a.go": "package a\n\nconst A = 2\n"})
	if other, err := Write(t.TempDir(), repository); err != nil || other.Version == p.Version {
		t.Errorf("another tree has the version %v, %v", other, err)
	}
	write(t, repository, map[string]string{"deep/b/go.mod": "module " + Root + "/deep/b\n\ngo 1.26.0\n\nreplace " + Root + " => ../..\n"})
	if _, err := Write(t.TempDir(), repository); err == nil || !strings.Contains(err.Error(), "deep/b/go.mod replaces "+Root) {
		t.Errorf("a module that replaces another: error %v", err)
	}
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func run(t *testing.T, folder string, environ []string, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir, command.Env = folder, append(os.Environ(), environ...)
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, arguments, err, said)
	}
	return string(said)
}
