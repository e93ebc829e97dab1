package localdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlaceOutsideOfTheProject: a folder with a go.mod and a package.json of its own is no place of
// this project, and servers are looked for in the user's cache.
func TestPlaceOutsideOfTheProject(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module github.com/streamsort/streamsorter\n", "package.json": "{}"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	t.Setenv("HOME", cache)
	t.Setenv("XDG_CACHE_HOME", cache)
	if root, err := Root(); err == nil {
		t.Errorf("the project is at %s", root)
	}
	at, err := place(Dynoxide)
	if err != nil || !strings.HasPrefix(at, cache) {
		t.Errorf("%s, %v", at, err)
	}
	if _, err := Start(t.Context(), Dynoxide, ""); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("error %v", err)
	}
	if _, err := place("oracle"); err == nil {
		t.Error("there is a place for a server that nobody knows")
	}
}
