// Package strictjson reads JSON so that no two readers can disagree about it: a member that stands
// twice, a lone surrogate, or anything behind the value is an error. Values are kept as they came,
// byte for byte.
//
// Read an object whose members are known into a struct with [Decode], any other one with [Members],
// an array with [Elements], and a string with [Text]. [Marshal] writes.
//
// An error is an [invalid.Error] without the field's name, which its caller knows; of Decode, with
// the path to the member.
//
// Rejected: encoding/json (takes a member twice, in any case of its letters, and null as 0);
// encoding/json/v2 (an experiment) and github.com/go-json-experiment/json (no release; null is 0
// there too, it has no bounds, and it is as strict with the bodies that are only passed on).
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Member is a member of a JSON object, its value as it came.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members reads an object's members in their order. A name that stands twice is an error: readers
// disagree which of the two counts.
func Members(raw []byte) ([]Member, error) {
	if err := check(raw); err != nil {
		return nil, err
	}
	if First(raw) != '{' {
		return nil, malformed("must be a JSON object")
	}
	var members []Member
	seen := map[string]bool{}
	for part := range parts(raw) {
		end := 1
		for ; part[end] != '"'; end++ {
			if part[end] == '\\' {
				end++
			}
		}
		name, err := Text(part[:end+1])
		if err != nil {
			return nil, malformed(fmt.Sprintf("has a member %s whose name %s", Shown(part[:end+1]), err))
		}
		if seen[name] {
			return nil, invalid.New(invalid.Clash, "", fmt.Sprintf("has the member %q twice", name))
		}
		seen[name] = true
		members = append(members, Member{name, trimmed(trimmed(part[end+1:])[1:])})
	}
	return members, nil
}

// Elements reads an array's elements, each as it came, and makes no more than one beyond the most
// that there may be: a list of millions of numbers shall not take their memory.
func Elements(raw []byte, most int) ([]json.RawMessage, error) {
	elements, err := FirstElements(raw, most+min(1, math.MaxInt-most))
	if len(elements) > most {
		return nil, invalid.New(invalid.OutOfRange, "",
			fmt.Sprintf("has too many elements: at most %d are taken", most))
	}
	return elements, err
}

// FirstElements reads so many elements at most of an array.
func FirstElements(raw []byte, n int) ([]json.RawMessage, error) {
	if !IsArray(raw) {
		return nil, malformed("must be a JSON array")
	}
	if err := check(raw); err != nil {
		return nil, err
	}
	var elements []json.RawMessage
	for part := range parts(raw) {
		if len(elements) == n {
			break
		}
		elements = append(elements, part)
	}
	return elements, nil
}

// parts are the members of an object, or the elements of an array, which is valid.
func parts(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		raw := trimmed(raw)
		begin, depth, quoted := 1, 0, false
		for i := 1; i < len(raw); i++ {
			switch c := raw[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '[', c == '{':
				depth++
			case depth == 0 && (c == ',' || c == ']' || c == '}'):
				part := trimmed(raw[begin:i:i])
				if begin = i + 1; len(part) > 0 && !yield(part) {
					return
				}
			case c == ']', c == '}':
				depth--
			}
		}
	}
}

// trimmed is a text without JSON's white space around it.
func trimmed(raw []byte) []byte { return bytes.Trim(raw, " \t\r\n") }

// IsArray reports whether a value is an array, if it is anything.
func IsArray(raw []byte) bool { return First(raw) == '[' }

func malformed(problem string) error { return invalid.New(invalid.Malformed, "", problem) }

func check(raw []byte) error {
	if json.Valid(raw) {
		return nil
	}
	var syntax *json.SyntaxError
	err := json.Unmarshal(raw, new(json.RawMessage))
	switch {
	case strings.HasSuffix(err.Error(), "exceeded max depth"): // which has no name in encoding/json
		return invalid.New(invalid.OutOfRange, "", "is nested deeper than 10,000 levels")
	case errors.As(err, &syntax) && syntax.Offset == int64(len(raw)) &&
		strings.HasPrefix(err.Error(), "unexpected end"):
		return malformed("is broken JSON: it ends too early")
	case strings.HasSuffix(err.Error(), "after top-level value"):
		return malformed("has more after the end of the JSON value")
	}
	return malformed("is broken JSON: " + err.Error())
}

// Take takes the member of a name out of a document's members; nil if absent.
func Take(members []Member, name string) (value json.RawMessage, rest []Member) {
	is := func(m Member) bool { return m.Name == name }
	return Get(members, name), slices.DeleteFunc(slices.Clone(members), is)
}

// Get is the value of the member of a name, or nil.
func Get(members []Member, name string) json.RawMessage {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Without is a document without its member of a name; the values of the others stay as they are,
// byte for byte.
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
