package cache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestMake makes a folder once, leaves nothing of one that failed, and keeps that of a quicker
// process.
func TestMake(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "below", "tool")
	calls := 0
	fill := func(text string) func(string) error {
		return func(half string) error {
			calls++
			return os.WriteFile(filepath.Join(half, "file"), []byte(text), 0o600)
		}
	}
	broken := errors.New("broken")
	if err := Make(folder, folder, func(half string) error {
		return errors.Join(fill("half")(half), broken)
	}); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	check.Is(t, len(check.Get(os.ReadDir(filepath.Dir(folder)))), 0)
	if err := Make(folder, folder, func(half string) error { // another process is quicker
		return errors.Join(fill("slow")(half), Make(folder, folder, fill("quick")))
	}); err != nil {
		t.Fatal(err)
	}
	calls = 0
	err := Make(folder, folder, fill("again"))
	check.That(t, err == nil && calls == 0, "%v, filled again %d times", err, calls)
	check.Is(t, string(check.Get(os.ReadFile(filepath.Join(folder, "file")))), "quick")
	check.Is(t, len(check.Get(os.ReadDir(filepath.Dir(folder)))), 1)
}
