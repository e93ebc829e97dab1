//go:build whole

package pyenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A list without packages makes an environment whose Python runs; the second call takes it as it
// is, and another list gets another one.
func TestPython(t *testing.T) {
	parent := t.TempDir()
	first, err := pythonIn(t.Context(), parent, "tool", []byte("# nothing\n"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(first, "-c", "print(6*7)").Output(); err != nil || strings.TrimSpace(string(out)) != "42" {
		t.Fatalf("%q, %v", out, err)
	}
	mark := filepath.Join(filepath.Dir(first), "mark")
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := pythonIn(t.Context(), parent, "tool", []byte("# nothing\n")); err != nil || again != first {
		t.Errorf("%s, %v; want %s", again, err, first)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("the second call made it anew")
	}
}

func TestPythonLeavesNothingHalf(t *testing.T) {
	parent := t.TempDir()
	if _, err := pythonIn(t.Context(), parent, "tool", []byte("no package ==\n")); err == nil || !strings.Contains(err.Error(), "install tool") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
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
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	refused("an old one")
}
