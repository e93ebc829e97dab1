// Package strictjson reads JSON so that no two readers can disagree about it: a
// member that stands twice, a lone surrogate, or anything behind the value is an
// error. Values are kept as they came, byte for byte.
//
// Read an object with [Members], an array with [Elements], and their values with
// [Text] and [Positive]. [Marshal] writes.
//
// An error is an [invalid.Error] without the field's name, which its caller knows.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Member is a member of a JSON object, its value as it came.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members reads an object's members in their order. A name that stands twice
// is an error: readers disagree which of the two counts.
func Members(raw []byte) ([]Member, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	token, err := decoder.Token()
	if err != nil {
		return nil, broken(raw, err)
	}
	if token != json.Delim('{') {
		return nil, malformed("must be a JSON object")
	}
	var members []Member
	seen := map[string]bool{}
	for decoder.More() {
		before := decoder.InputOffset()
		token, err := decoder.Token()
		if err != nil {
			return nil, broken(raw, err)
		}
		name, _ := token.(string)
		if err := wellFormed(raw[before:decoder.InputOffset()]); err != nil {
			return nil, invalid.New(invalid.Malformed, "", fmt.Sprintf("has a member %q whose name %s", name, err))
		}
		if seen[name] {
			return nil, invalid.New(invalid.Clash, "", fmt.Sprintf("has the member %q twice", name))
		}
		seen[name] = true
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, broken(raw, err)
		}
		members = append(members, Member{name, value})
	}
	return members, end(decoder, raw)
}

// Elements reads an array's elements, each as it came, and looks at no more than one
// beyond the most that there may be: a list of millions of numbers shall not take their
// memory.
func Elements(raw []byte, most int) ([]json.RawMessage, error) {
	return elements(raw, most, false)
}

// FirstElements reads so many elements at most of an array, and looks at nothing behind them.
func FirstElements(raw []byte, n int) ([]json.RawMessage, error) { return elements(raw, n, true) }

func elements(raw []byte, most int, only bool) ([]json.RawMessage, error) {
	if !IsArray(raw) {
		return nil, malformed("must be a JSON array")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil, broken(raw, err)
	}
	var elements []json.RawMessage
	for decoder.More() {
		if len(elements) == most && only {
			return elements, nil
		}
		if len(elements) == most {
			return nil, invalid.New(invalid.OutOfRange, "", fmt.Sprintf("has too many elements: at most %d are taken", most))
		}
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return nil, broken(raw, err)
		}
		elements = append(elements, element)
	}
	return elements, end(decoder, raw)
}

// IsArray reports whether a value is an array, if it is anything.
func IsArray(raw []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) }

// end reads the end of the object or array and makes sure that nothing follows.
func end(decoder *json.Decoder, raw []byte) error {
	if _, err := decoder.Token(); err != nil {
		return broken(raw, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed("has more after the end of the JSON value")
	}
	return nil
}

func malformed(problem string) error { return invalid.New(invalid.Malformed, "", problem) }

// maxDepth is how deep encoding/json reads.
const maxDepth = 10_000

func broken(raw []byte, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("is broken JSON: it ends too early")
	}
	if isDeeper(raw, maxDepth) {
		return invalid.New(invalid.OutOfRange, "", "is nested deeper than 10,000 levels")
	}
	return malformed("is broken JSON: " + err.Error())
}

// isDeeper reports whether arrays and objects are nested deeper than this.
// encoding/json has no name for such an error.
func isDeeper(raw []byte, depth int) bool {
	within, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[', b == '{':
			if within++; within > depth {
				return true
			}
		case b == ']', b == '}':
			within--
		}
	}
	return false
}

// Take takes the member of a name out of a document's members; nil where
// there is none.
func Take(members []Member, name string) (value json.RawMessage, rest []Member) {
	rest = make([]Member, 0, len(members))
	for _, m := range members {
		if m.Name == name {
			value = m.Value
			continue
		}
		rest = append(rest, m)
	}
	return value, rest
}

// Without is a document without its member of a name; the values of the others
// stay as they are, byte for byte.
func Without(document json.RawMessage, name string) (json.RawMessage, error) {
	members, err := Members(document)
	if err != nil {
		return nil, err
	}
	_, rest := Take(members, name)
	return Object(rest)
}

// Object writes an object of members, their values byte for byte.
func Object(members []Member) (json.RawMessage, error) {
	var body strings.Builder
	for i, m := range members {
		if i > 0 {
			body.WriteByte(',')
		}
		key, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		body.Write(key)
		body.WriteByte(':')
		body.Write(m.Value)
	}
	return json.RawMessage("{" + body.String() + "}"), nil
}
