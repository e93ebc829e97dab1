package eventsource

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// pattern is one compiled filter, for a JSON object: all its fields have to match.
//
// "Control which events Lambda sends to your function" (invocation-eventfiltering.html): a record
// passes if every field that the pattern names has one of the values listed for it; the rules are
// those of EventBridge. Supported are null, empty, equals, equals-ignore-case, and, or,
// anything-but, exists, prefix and suffix. numeric is refused, as it matches no attribute of type
// N, which is a string in the record; and $or, in whose place a mapping takes several filters.
//
// "Using event filtering with a DynamoDB event source" (with-ddb-filtering.html): a pattern goes
// down to the attribute's type, as in {"dynamodb": {"NewImage": {"state": {"S": ["done"]}}}}.
type pattern struct{ fields map[string]fieldPattern }

// fieldPattern is either a pattern for a nested object or, at a leaf, the list of values of which
// one has to match.
type fieldPattern struct {
	object *pattern
	values []matcher
	// absentMatches is set where the list holds {"exists": false}; path is then the way to the leaf
	// from the record's root.
	absentMatches bool
	path          []string
}

// matcher decides about one scalar of a record: a string, a json.Number, a bool or nil.
type matcher func(value any) bool

// compilePattern reads a filter's JSON.
func compilePattern(text string) (*pattern, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("pattern is not a JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("pattern has something after its JSON object")
	}
	return compileObject(fields, nil)
}

// compileObject reads the fields of an object.
func compileObject(fields map[string]any, path []string) (*pattern, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("%s is an empty object", place(path))
	}
	p := &pattern{fields: map[string]fieldPattern{}}
	for name, value := range fields {
		if name == "$or" {
			return nil, errors.New("$or is not run here: write one filter for each alternative")
		}
		field, err := compileField(value, append(slices.Clone(path), name))
		if err != nil {
			return nil, err
		}
		p.fields[name] = field
	}
	return p, nil
}

// compileField reads what a pattern says about one field.
func compileField(value any, path []string) (fieldPattern, error) {
	switch v := value.(type) {
	case map[string]any:
		o, err := compileObject(v, path)
		return fieldPattern{object: o}, err
	case []any:
		return compileValues(v, path)
	default:
		return fieldPattern{}, fmt.Errorf("%s must be an object or a list", place(path))
	}
}

// compileValues reads the list of values at a leaf.
func compileValues(list []any, path []string) (fieldPattern, error) {
	if len(list) == 0 {
		return fieldPattern{}, fmt.Errorf("%s is an empty list", place(path))
	}
	field := fieldPattern{path: path}
	for i, value := range list {
		operator, ok := value.(map[string]any)
		if ok && isAbsent(operator) {
			field.absentMatches = true
			continue
		}
		m, err := compileValue(value)
		if err != nil {
			return fieldPattern{}, fmt.Errorf("%s[%d]: %w", place(path), i, err)
		}
		field.values = append(field.values, m)
	}
	return field, nil
}

// isAbsent recognises {"exists": false}, the only operator that looks at what is not there.
func isAbsent(operator map[string]any) bool {
	exists, ok := operator["exists"].(bool)
	return ok && !exists && len(operator) == 1
}

// place names a field in an error.
func place(path []string) string { return cmp.Or(strings.Join(path, "."), "pattern") }

// matches reports whether a record, decoded into maps, lists, strings, json.Number, bool and nil,
// passes the pattern.
func (p *pattern) matches(event map[string]any) bool { return p.matchesIn(event, event) }

// matchesIn looks at one place of the record. Where a record has a list, one of its elements has to
// match: "Arrays in Amazon EventBridge event patterns" (eb-event-patterns-arrays.html).
func (p *pattern) matchesIn(value any, root map[string]any) bool {
	if list, ok := value.([]any); ok && len(list) > 0 {
		return slices.ContainsFunc(list, func(e any) bool { return p.matchesIn(e, root) })
	}
	fields, _ := value.(map[string]any) // nil where the record has no object here
	for name, field := range p.fields {
		value, present := fields[name]
		if !field.matches(value, present, root) {
			return false
		}
	}
	return true
}

func (f fieldPattern) matches(value any, present bool, root map[string]any) bool {
	if f.object != nil {
		return f.object.matchesIn(value, root)
	}
	if f.absentMatches && !leafExists(root, f.path) {
		return true
	}
	return present && f.matchesValue(value)
}

// matchesValue compares a leaf. An object is no leaf: "exists" and all other operators do not see
// intermediate nodes (with-ddb-filtering.html, "Using the Exists operator").
func (f fieldPattern) matchesValue(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return false
	case []any:
		return slices.ContainsFunc(v, f.matchesValue)
	default:
		return slices.ContainsFunc(f.values, func(m matcher) bool { return m(v) })
	}
}

// leafExists reports whether there is any scalar at the path, in any element of the lists on the
// way.
func leafExists(value any, path []string) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return leafExists(e, path) })
	case map[string]any:
		if len(path) == 0 {
			return false
		}
		next, ok := v[path[0]]
		return ok && leafExists(next, path[1:])
	default:
		return len(path) == 0
	}
}
