package localstack

import (
	"bytes"
	_ "embed" // for ownTemplate
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/dev/localdb"
)

//go:embed streamsort.template.json
var ownTemplate []byte

// OwnTemplate is the path of this project's own template: in the project's folder, or
// else a copy in the user's cache.
func OwnTemplate() (string, error) {
	const name = "streamsort.template.json"
	if root, err := localdb.Root(); err == nil {
		return filepath.Join(root, "localstack", name), nil
	}
	folder, err := cacheFolder("template")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, ownTemplate) {
		return path, nil // another process may read it now
	}
	return path, os.WriteFile(path, ownTemplate, 0o644)
}
