package deduplambda

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Field returns a function that reads the key of an event from one of its fields, for [Handler] and
// the batch helpers.
//
// The path is the field's JSON names, with dots between ("detail.order.id"); an element of an array
// is named by its index, from 0. A string on the way that holds JSON is looked into, so that
// "body.id" is a field of an HTTP event's body. The value is a string, or a number or truth as JSON
// writes it; one that is missing, null or empty is a missing key, an object or an array an error.
//
// Take json.RawMessage as In where ids are numbers over 2^53: a type that reads numbers as float64,
// such as a map, has made two of them one before.
func Field[In any](path string) (func(In) (string, error), error) {
	names, err := fieldPath(path)
	if err != nil {
		return nil, err
	}
	return func(event In) (string, error) {
		root, err := tree(event)
		if err != nil {
			return "", err
		}
		switch value := walk(root, names).(type) {
		case nil:
			return "", nil
		case string:
			return value, nil
		case json.Number:
			return value.String(), nil
		case bool:
			return strconv.FormatBool(value), nil
		}
		return "", invalid.New(invalid.Malformed, "id",
			"must be a string or a number, and "+path+" is neither")
	}, nil
}

// Fields returns a function that reads the payload of an event from some of its fields, by paths as
// [Field] has them; without a path, the payload is the whole event. The values are compared as
// JSON: the order of names and the spaces do not matter. A missing field is as good as null.
func Fields[In any](paths ...string) (func(In) ([][]byte, error), error) {
	all := make([][]string, len(paths))
	for i, path := range paths {
		names, err := fieldPath(path)
		if err != nil {
			return nil, err
		}
		all[i] = names
	}
	return func(event In) ([][]byte, error) {
		root, err := tree(event)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			whole, err := json.Marshal(root)
			return [][]byte{whole}, err
		}
		parts := make([][]byte, len(all))
		for i, names := range all {
			if parts[i], err = json.Marshal(walk(root, names)); err != nil {
				return nil, err // unreachable: it was read from JSON
			}
		}
		return parts, nil
	}, nil
}

func fieldPath(path string) ([]string, error) {
	names := strings.Split(path, ".")
	for _, name := range names {
		if name == "" || len(names) > 20 {
			return nil, invalid.New(invalid.Malformed, "path",
				"must be 1 to 20 names with dots between, and is "+strconv.Quote(path))
		}
	}
	return names, nil
}

func tree(event any) (any, error) {
	raw, err := json.Marshal(event)
	if err != nil {
		return nil, invalid.New(invalid.Malformed, "event", "cannot be read as JSON: "+err.Error())
	}
	return parse(raw)
}

func parse(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more than one JSON value")
	}
	return root, nil
}

// walk is the value at the end of a path; nil where none exists.
func walk(value any, names []string) any {
	for _, name := range names {
		if text, ok := value.(string); ok {
			inner, err := parse([]byte(text))
			if err != nil {
				return nil
			}
			value = inner
		}
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			index, err := strconv.Atoi(name)
			if err != nil || index < 0 || index >= len(v) {
				return nil
			}
			value = v[index]
		default:
			return nil
		}
	}
	return value
}
