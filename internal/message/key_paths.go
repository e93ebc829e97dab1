package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// KeyPaths are the ways to the parts of a key in somebody else's document: of one, which may
// also be an array, or of each.
type KeyPaths []strictjson.FieldPath

// ParseKeyPaths reads paths with commas between; a name in them has none.
func ParseKeyPaths(text string) (KeyPaths, error) {
	texts := strings.Split(text, ",")
	if len(texts) > cursor.MaxKeyParts {
		return nil, invalid.New(invalid.OutOfRange, "", fmt.Sprintf("has %d paths: a key has at most %d parts", len(texts), cursor.MaxKeyParts))
	}
	paths := make(KeyPaths, len(texts))
	for i, text := range texts {
		var err error
		if paths[i], err = strictjson.ParseFieldPath(text); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// Prev is the id of the message before one, at a path of somebody else's document; empty
// where nothing is there: the first has none before it.
func Prev(path strictjson.FieldPath, event json.RawMessage) (string, error) {
	if path == nil {
		return "", nil
	}
	value, err := path.Find(event)
	if err != nil || string(value) == "null" {
		return "", nil
	}
	return Name(value)
}

// Find is the key's parts in an event, which is an object.
func (p KeyPaths) Find(event json.RawMessage) ([]any, error) {
	values := make([][]byte, len(p))
	for i, path := range p {
		value, err := path.Find(event)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	if len(values) == 1 {
		return cursor.KeyParts(values[0])
	}
	return cursor.KeyParts(append(append([]byte("["), bytes.Join(values, []byte(","))...), ']'))
}
