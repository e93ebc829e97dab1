package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// Member is a member of a JSON object, its value as it came.
type Member struct {
	Name  string
	Value json.RawMessage
}

// errNotObject: the value is JSON, and no object.
var errNotObject = errors.New("must be a JSON object")

// Members reads an object's members in their order. A name that stands twice
// is an error: readers disagree which of the two counts.
func Members(raw []byte) ([]Member, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	token, err := decoder.Token()
	if err != nil {
		return nil, broken(err)
	}
	if token != json.Delim('{') {
		return nil, errNotObject
	}
	var members []Member
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, broken(err)
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, fmt.Errorf("has the member %q twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, broken(err)
		}
		members = append(members, Member{name, value})
	}
	return members, end(decoder)
}

// Elements reads an array's elements, each as it came.
func Elements(raw []byte) ([]json.RawMessage, error) {
	var elements []json.RawMessage
	if !IsArray(raw) {
		return nil, errors.New("must be a JSON array")
	}
	if err := json.Unmarshal(raw, &elements); err != nil {
		return nil, broken(err)
	}
	return elements, nil
}

// IsArray reports whether a value is an array, if it is anything.
func IsArray(raw []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) }

// end reads the end of the object and makes sure that nothing follows.
func end(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return broken(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has more after the end of the JSON value")
	}
	return nil
}

func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is broken JSON: it ends too early")
	}
	if strings.Contains(err.Error(), "exceeded max depth") {
		return errors.New("is nested deeper than 10,000 levels")
	}
	return fmt.Errorf("is broken JSON: %w", err)
}

// Text reads a JSON string. One with a lone surrogate is refused: it has no
// UTF-8, and would be taken for another string.
func Text(raw json.RawMessage) (string, error) {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil {
		return "", errors.New("must be a string")
	}
	replaced := strings.Count(*text, "\uFFFD")
	written := strings.Count(string(raw), "\uFFFD") + strings.Count(strings.ToLower(string(raw)), `\ufffd`)
	if replaced != written {
		return "", errors.New("has a surrogate without its other half, so it is not valid UTF-8")
	}
	return *text, nil
}

// Positive reads an integer of 1 or more. A null or a 0, which would silently
// mean a default, is none.
func Positive(raw json.RawMessage) (int, error) {
	var value *int
	if json.Unmarshal(raw, &value) != nil || value == nil || *value < 1 {
		return 0, errors.New("must be a positive integer")
	}
	return *value, nil
}

// Seq reads a seq: an integer, or a string of its canonical decimal digits.
func Seq(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		var err error
		if text, err = Text(raw); err != nil {
			return 0, err
		}
	}
	seq, err := cursor.ParseSeq(text)
	var invalid *cursor.InvalidError
	if errors.As(err, &invalid) {
		return 0, errors.New(invalid.Problem)
	}
	return seq, err
}

// Kind reads a kind of queue.
func Kind(raw json.RawMessage) (cursor.Kind, error) {
	text, err := Text(raw)
	if err != nil {
		return "", err
	}
	kind, err := cursor.ParseKind(text)
	if err != nil {
		return "", errors.New("must be numbered or arrival")
	}
	return kind, nil
}

// Name reads what names a thing in somebody else's document: a string, or an
// integer, which names a repository or an account as well.
func Name(raw json.RawMessage) (string, error) {
	name, err := Text(raw)
	if err == nil {
		return name, nil
	}
	if _, notSeq := Seq(raw); notSeq == nil {
		return string(raw), nil
	}
	return "", errors.New("must be a string or an integer")
}

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
		return nil, errors.New("has more than 20 names")
	}
	for _, name := range path {
		if name == "" {
			return nil, errors.New("has an empty name")
		}
	}
	return path, nil
}

// ErrNoField is in the errors of [FieldPath.Find] where there is no such field.
var ErrNoField = errors.New("is missing: the event has no field")

// Find is the field's value in an event, which is an object.
func (p FieldPath) Find(raw json.RawMessage) (json.RawMessage, error) {
	for i, name := range p {
		members, err := Members(raw)
		if err != nil {
			return nil, fmt.Errorf("is missing: %s %w", strings.Join(append([]string{"event"}, p[:i]...), "."), err)
		}
		found := false
		for _, member := range members {
			if member.Name == name {
				raw, found = member.Value, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w %s", ErrNoField, strings.Join(p[:i+1], "."))
		}
	}
	return raw, nil
}
