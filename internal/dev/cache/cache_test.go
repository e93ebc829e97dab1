package cache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
	if err := Make(folder, folder, func(half string) error { return errors.Join(fill("half")(half), broken) }); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := Make(folder, folder, func(half string) error { // another process is quicker
		return errors.Join(fill("slow")(half), Make(folder, folder, fill("quick")))
	}); err != nil {
		t.Fatal(err)
	}
	calls = 0
	if err := Make(folder, folder, fill("again")); err != nil || calls != 0 {
		t.Errorf("%v, filled again %d times", err, calls)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "file")); err != nil || string(text) != "quick" {
		t.Errorf("%q, %v; want what the quicker one made", text, err)
	}
	if left, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
