package localdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestPlaceOutsideOfTheProject: a folder with a go.mod and a package.json of its own is no place of
// this project, and servers are looked for in the user's cache.
func TestPlaceOutsideOfTheProject(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module github.com/streamsort/streamsorter\n",
		"package.json": "{}"} {
		check.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	t.Chdir(folder)
	t.Setenv("HOME", cache)
	t.Setenv("XDG_CACHE_HOME", cache)
	if root, err := Root(); err == nil {
		t.Errorf("the project is at %s", root)
	}
	at, err := place(Dynoxide)
	check.That(t, err == nil && strings.HasPrefix(at, cache), "%s, %v", at, err)
	// A clone in which nothing is installed yet is as any other folder.
	clone := "module github.com/streamsort/streamsort\n"
	check.OK(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(clone), 0o600))
	inClone, err := place(Dynoxide)
	check.That(t, err == nil && inClone == at, "%s, %v", inClone, err)
	_, err = Start(t.Context(), Dynoxide, "")
	check.That(t, err != nil && strings.Contains(err.Error(), "not installed"), "error %v", err)
	_, err = place("oracle")
	check.That(t, err != nil, "there is a place for a server that nobody knows")
}
