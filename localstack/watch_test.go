package localstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestFingerprint: source files count, and files that are named themselves; what a function, a log
// or the tables write beside them does not.
func TestFingerprint(t *testing.T) {
	folder := t.TempDir()
	embedded := filepath.Join(folder, "embedded.sql")
	for name, counts := range map[string]bool{
		"app.py": true, "app.mjs": true, "app.js": true, "app.cjs": true, "main.go": true, "go.mod": true, "go.sum": true, "embedded.sql": true,
		"out.txt": false, "out.json": false, "local.log": false, "tables.db": false, ".lock": false, "go": false,
	} {
		for _, text := range []string{"", "edited"} { // a new file, then an edit
			before := fingerprint([]string{folder, embedded})
			check.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
			check.Is(t, fingerprint([]string{folder, embedded}) != before, counts, name, text)
		}
	}
}
