//go:build whole

package pyenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// A list without packages makes an environment whose Python runs; the second call takes it as it
// is, and another list gets another one.
func TestPython(t *testing.T) {
	parent := t.TempDir()
	first := check.Get(pythonIn(t.Context(), parent, "tool", []byte("# nothing\n")))
	out := check.Get(exec.Command(first, "-c", "print(6*7)").Output())
	check.Need(t, strings.TrimSpace(string(out)) == "42", "%+v", out)
	mark := filepath.Join(filepath.Dir(first), "mark")
	check.OK(t, os.WriteFile(mark, nil, 0o644))
	check.Is(t, check.Get(pythonIn(t.Context(), parent, "tool", []byte("# nothing\n"))), first)
	_, err := os.Stat(mark)
	check.That(t, err == nil, "the second call made it anew")
}

func TestPythonLeavesNothingHalf(t *testing.T) {
	parent := t.TempDir()
	_, err := pythonIn(t.Context(), parent, "tool", []byte("no package ==\n"))
	check.That(t, err != nil && strings.Contains(err.Error(), "install tool"), "error %v", err)
	check.Is(t, len(check.Get(os.ReadDir(parent))), 0)
}

// Without Python, and with one that is too old, the error says what is needed.
func TestNeedsPython(t *testing.T) {
	parent, bin := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	refused := func(what string) {
		if _, err := pythonIn(t.Context(), parent, "tool", nil); err == nil || !strings.Contains(err.Error(), "install tool: it needs python3, 3.10 or newer") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	refused("none")
	check.OK(t, os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	refused("an old one")
}
