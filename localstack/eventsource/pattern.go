package eventsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// pattern is one compiled filter.
//
// "Control which events Lambda sends to your function" (invocation-eventfiltering.html): a record
// passes if every field that the pattern names has one of the values listed for it; the rules are
// those of EventBridge. Supported is what that page lists: null, empty, equals, equals-ignore-case,
// and, or, $or, anything-but, numeric, exists, prefix and suffix. EventBridge's wildcard and cidr
// and anything-but with a nested operator are refused, as Lambda does not list them.
//
// "Using event filtering with a DynamoDB event source" (with-ddb-filtering.html): a pattern goes
// down to the attribute's type, as in {"dynamodb": {"NewImage": {"state": {"S": ["done"]}}}}. An
// attribute of type N is a string in the record, so "numeric" never matches it.
type pattern struct{ root *object }

// object is a pattern for a JSON object: all its fields have to match, and of each $or at least one
// alternative.
type object struct {
	fields map[string]fieldPattern
	ors    [][]*object
}

// fieldPattern is either a pattern for a nested object or, at a leaf, the list of values of which
// one has to match.
type fieldPattern struct {
	object *object
	values []matcher
	// absentMatches is set where the list holds {"exists": false}; path is then the way to the leaf
	// from the record's root.
	absentMatches bool
	path          []string
}

// matcher decides about one scalar of a record: a string, a json.Number, a bool or nil.
type matcher func(value any) bool

// orKey joins alternatives that concern several fields.
const orKey = "$or"

// operators are the names that cannot be fields inside $or, because a pattern that uses them there
// was meant to be a list of values.
var operators = []string{
	"exactly", "prefix", "suffix", "equals-ignore-case", "anything-but", "numeric", "exists", "wildcard", "cidr",
}

// compilePattern reads a filter's JSON.
func compilePattern(text string) (*pattern, error) {
	if n := utf8.RuneCountInString(text); n > maxFilterLength {
		return nil, fmt.Errorf("pattern has %d characters, at most %d are allowed", n, maxFilterLength)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("pattern is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("pattern has something after its JSON object")
	}
	fields, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("pattern is not a JSON object")
	}
	root, err := compileObject(fields, nil, false)
	if err != nil {
		return nil, err
	}
	return &pattern{root: root}, nil
}

// compileObject reads the fields of an object; insideOr forbids the names of operators.
func compileObject(fields map[string]any, path []string, insideOr bool) (*object, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("%s is an empty object", place(path))
	}
	o := &object{fields: map[string]fieldPattern{}}
	for name, value := range fields {
		at := append(slices.Clone(path), name)
		if name == orKey {
			alternatives, err := compileOr(value, path)
			if err != nil {
				return nil, err
			}
			o.ors = append(o.ors, alternatives)
			continue
		}
		if insideOr && slices.Contains(operators, name) {
			return nil, fmt.Errorf("%s: %q is an operator and cannot be a field inside $or", place(path), name)
		}
		field, err := compileField(value, at, insideOr)
		if err != nil {
			return nil, err
		}
		o.fields[name] = field
	}
	return o, nil
}

// compileOr reads the alternatives of $or: at least two objects.
func compileOr(value any, path []string) ([]*object, error) {
	list, ok := value.([]any)
	if !ok || len(list) < 2 {
		return nil, fmt.Errorf("%s: $or needs a list of at least 2 objects", place(path))
	}
	var alternatives []*object
	for i, element := range list {
		fields, ok := element.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: $or[%d] is not an object", place(path), i)
		}
		o, err := compileObject(fields, path, true)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, o)
	}
	return alternatives, nil
}

// compileField reads what a pattern says about one field.
func compileField(value any, path []string, insideOr bool) (fieldPattern, error) {
	switch v := value.(type) {
	case map[string]any:
		o, err := compileObject(v, path, insideOr)
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
func place(path []string) string {
	if len(path) == 0 {
		return "pattern"
	}
	var b bytes.Buffer
	for i, name := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return b.String()
}

// matches reports whether a record, decoded into maps, lists, strings, json.Number, bool and nil,
// passes the pattern.
func (p *pattern) matches(event map[string]any) bool {
	return p.root.matches(event, event)
}

// matches looks at one place of the record. Where a record has a list, one of its elements has to
// match: "Arrays in Amazon EventBridge event patterns" (eb-event-patterns-arrays.html).
func (o *object) matches(value any, root map[string]any) bool {
	if list, ok := value.([]any); ok && len(list) > 0 {
		return slices.ContainsFunc(list, func(e any) bool { return o.matches(e, root) })
	}
	fields, _ := value.(map[string]any) // nil where the record has no object here
	for name, field := range o.fields {
		if !field.matches(fields[name], has(fields, name), root) {
			return false
		}
	}
	for _, alternatives := range o.ors {
		if !slices.ContainsFunc(alternatives, func(a *object) bool { return a.matches(value, root) }) {
			return false
		}
	}
	return true
}

func has(fields map[string]any, name string) bool {
	_, ok := fields[name]
	return ok
}

func (f fieldPattern) matches(value any, present bool, root map[string]any) bool {
	if f.object != nil {
		return f.object.matches(value, root)
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
