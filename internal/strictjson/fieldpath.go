package strictjson

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// FieldPath is the way to a field of nested objects: names with dots between;
// a backslash takes the next dot or backslash as part of a name.
type FieldPath []string

// ParseFieldPath reads a path of 1 to 20 names.
func ParseFieldPath(text string) (FieldPath, error) {
	var path FieldPath
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '.' || text[i+1] == '\\'):
			i++
			name.WriteByte(text[i])
		case c == '.':
			path = append(path, name.String())
			name.Reset()
		default:
			name.WriteByte(c)
		}
	}
	path = append(path, name.String())
	if len(path) > 20 {
		return nil, invalid.New(invalid.OutOfRange, "", "has more than 20 names")
	}
	for _, name := range path {
		if name == "" {
			return nil, malformed("has an empty name")
		}
	}
	return path, nil
}

// ErrNoField is what the error of [FieldPath.Find] comes of where there is no such
// field.
var ErrNoField = errors.New("there is no such field")

// Find is the field's value in an event, which is an object.
func (p FieldPath) Find(raw json.RawMessage) (json.RawMessage, error) {
	for i, name := range p {
		members, err := Members(raw)
		if err != nil {
			within := strings.Join(append([]string{"event"}, p[:i]...), ".")
			return nil, invalid.New(invalid.Missing, "", "is missing: "+within+" "+err.Error())
		}
		found := false
		for _, member := range members {
			if member.Name == name {
				raw, found = member.Value, true
			}
		}
		if !found {
			return nil, &invalid.Error{
				Code: invalid.Missing, Problem: "is missing: the event has no field " + strings.Join(p[:i+1], "."), Err: ErrNoField,
			}
		}
	}
	return raw, nil
}
