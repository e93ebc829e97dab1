package localstack

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/dev/cache"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

//go:embed streamsort.template.json streamsort.process.patch.json
var ownTemplates embed.FS

// own has the project's own template run where no other does, and its functions know the Consumers.
func (c *Config) own() (err error) {
	if len(c.Templates) == 0 {
		path, err := c.ownTemplate()
		if err != nil {
			return err
		}
		c.Templates = []string{path}
	}
	if len(c.Consumers) > 0 {
		c.Env, err = consumersEnv(c.Env, c.Consumers)
	}
	return err
}

// ownTemplate is the path of this project's own template, with process in it where there are
// Consumers: in the project's folder, or else a copy in the user's cache, where the Config says how
// the functions are had there.
func (c Config) ownTemplate() (string, error) {
	name := "streamsort.template.json"
	if len(c.Consumers) > 0 {
		name = "streamsort.process.patch.json"
	}
	root, outside := localdb.Root()
	switch {
	case outside == nil:
		return filepath.Join(root, "localstack", name), nil
	case c.Version == "" && c.Zips == "":
		return "", fmt.Errorf("the functions of Streamsort are not here, and this program has no version by which to fetch them: "+
			"run it inside Streamsort's clone, or with the zips of a release (--zips), or run a release: %w", outside)
	}
	folder, err := cache.Folder("template")
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		return "", err
	}
	entries, err := ownTemplates.ReadDir(".")
	for _, entry := range entries {
		text, _ := ownTemplates.ReadFile(entry.Name())
		path := filepath.Join(folder, entry.Name())
		// else another process may read it now
		if there, unread := os.ReadFile(path); unread != nil || !bytes.Equal(there, text) {
			err = errors.Join(err, os.WriteFile(path, text, 0o644))
		}
	}
	return filepath.Join(folder, name), err
}
