package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// ReadFile reads the text of a template from a file. The file may hold a patch instead, with these
// two members and no other:
//
//	Base   the path, absolute or from the file's folder, of what is patched: a template, or again a patch
//	Patch  the operations on it, a JSON Patch (RFC 6902)
//
// Errors name the file.
func ReadFile(path string) ([]byte, error) { return readBelow(nil, path) }

// readBelow reads the base of the patches above it.
func readBelow(above []string, path string) ([]byte, error) {
	if slices.Contains(above, path) {
		return nil, fmt.Errorf("%s: Base: the file is its own base", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Base  string
		Patch json.RawMessage
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&file) != nil || file.Base == "" {
		return text, nil // a template, or what Parse says is wrong with it
	}
	if !filepath.IsAbs(file.Base) {
		file.Base = filepath.Join(filepath.Dir(path), file.Base)
	}
	base, err := readBelow(append(above, path), file.Base)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(file.Patch)
	if err == nil {
		text, err = patch.ApplyIndent(base, "  ")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: Patch: %w", path, err)
	}
	return text, nil
}
