package localstack

import (
	"bytes"
	_ "embed" // for ownTemplate
	"fmt"
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/dev/cache"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

//go:embed streamsort.template.json
var ownTemplate []byte

// OwnTemplate is the path of this project's own template: in the project's folder, or
// else a copy in the user's cache, where the Config says how the functions are had there.
func (c Config) OwnTemplate() (string, error) {
	const name = "streamsort.template.json"
	root, outside := localdb.Root()
	switch {
	case outside == nil:
		return filepath.Join(root, "localstack", name), nil
	case c.Version == "" && c.Zips == "":
		return "", fmt.Errorf("the project's own template needs its functions, and this program has no version by which to fetch them: "+
			"run it in the project's folder, or run a release, or with the zips of one (--zips): %w", outside)
	}
	folder, err := cache.Folder("template")
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, ownTemplate) {
		return path, nil // another process may read it now
	}
	return path, os.WriteFile(path, ownTemplate, 0o644)
}
