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

// pattern is one filter, for a JSON object: all its fields have to match.
//
// "Control which events Lambda sends to your function" (invocation-eventfiltering.html): a record
// passes if every field that the pattern names has one of the values listed for it; the rules are
// those of EventBridge. Supported are null, empty, equals, equals-ignore-case, and, or,
// anything-but, exists, prefix and suffix. numeric is refused, as it matches no attribute of type
// N, which is a string in the record; and $or, in whose place a mapping takes several filters.
//
// "Using event filtering with a DynamoDB event source" (with-ddb-filtering.html): a pattern goes
// down to the attribute's type, as in {"dynamodb": {"NewImage": {"state": {"S": ["done"]}}}}.
type pattern map[string]any

// compilePattern reads a filter's JSON.
func compilePattern(text string) (pattern, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("pattern is not a JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("pattern has something after its JSON object")
	}
	return fields, checkFields(fields, "")
}

// checkFields reports what cannot be run of an object's fields: each is an object again, or, at a
// leaf, a list of values of which one has to match.
func checkFields(value any, place string) error {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return fmt.Errorf("%s is an empty object", cmp.Or(place, "pattern"))
		}
		for name, field := range v {
			if name == "$or" {
				return errors.New("$or is not run here: write one filter for each alternative")
			}
			if err := checkFields(field, strings.TrimPrefix(place+"."+name, ".")); err != nil {
				return err
			}
		}
	case []any:
		if len(v) == 0 {
			return fmt.Errorf("%s is an empty list", place)
		}
		for i, entry := range v {
			if _, err := holds(entry, nil); err != nil {
				return fmt.Errorf("%s[%d]: %w", place, i, err)
			}
		}
	default:
		return fmt.Errorf("%s must be an object or a list", cmp.Or(place, "pattern"))
	}
	return nil
}

// holds reports whether a leaf is what one entry of a list asks for: a scalar, which has to be
// equal, or an object with one operator.
func holds(entry, leaf any) (bool, error) {
	operator, isOperator := entry.(map[string]any)
	if _, isList := entry.([]any); isList {
		return false, errors.New("a list inside a list of values")
	}
	if !isOperator {
		return leaf == entry, nil // a number by its digits
	}
	if len(operator) != 1 {
		return false, fmt.Errorf("an operator has exactly one key, this has %d", len(operator))
	}
	has, isText := leaf.(string)
	for name, operand := range operator {
		text, ofText := operand.(string)
		there, ofBool := operand.(bool)
		switch {
		case name == "prefix" && ofText:
			return isText && strings.HasPrefix(has, text), nil
		case name == "suffix" && ofText:
			return isText && strings.HasSuffix(has, text), nil
		case name == "equals-ignore-case" && ofText:
			return isText && strings.EqualFold(has, text), nil
		case name == "exists" && ofBool:
			return there, nil
		case name == "anything-but":
			return isNone(operand, leaf)
		default:
			return false, fmt.Errorf("operator %q of %v is not run here: there are prefix, suffix and "+
				"equals-ignore-case of a string, anything-but, and exists of true or false", name, operand)
		}
	}
	return false, nil // unreachable: there is one operator
}

// isNone is anything-but of a string, a number, or a list of them.
func isNone(operand, leaf any) (bool, error) {
	list, ok := operand.([]any)
	if !ok {
		list = []any{operand}
	}
	for _, value := range list {
		_, isText := value.(string)
		_, isNumber := value.(json.Number)
		if !isText && !isNumber {
			return false, errors.New("anything-but needs strings or numbers")
		}
	}
	return !slices.Contains(list, leaf), nil
}

// matches reports whether a record, decoded into maps, lists, strings, json.Number, bool and nil,
// passes the pattern.
func (p pattern) matches(event map[string]any) bool { return matchesIn(p, event, event, nil) }

// matchesIn looks at one place of the record. Where a record has a list, one of its elements has to
// match: "Arrays in Amazon EventBridge event patterns" (eb-event-patterns-arrays.html).
func matchesIn(fields map[string]any, value any, root map[string]any, path []string) bool {
	if list, ok := value.([]any); ok && len(list) > 0 {
		return slices.ContainsFunc(list, func(e any) bool { return matchesIn(fields, e, root, path) })
	}
	in, _ := value.(map[string]any) // nil where the record has no object here
	for name, field := range fields {
		at := append(slices.Clone(path), name)
		leaf, present := in[name]
		list, isLeaf := field.([]any)
		switch {
		case !isLeaf:
			if !matchesIn(field.(map[string]any), leaf, root, at) {
				return false
			}
		case slices.ContainsFunc(list, isAbsent) && !leafExists(root, at):
		case !present || !matchesLeaf(list, leaf):
			return false
		}
	}
	return true
}

// isAbsent recognises {"exists": false}, the only operator that looks at what is not there.
func isAbsent(entry any) bool {
	operator, _ := entry.(map[string]any)
	return operator["exists"] == false
}

// matchesLeaf compares a leaf. An object is no leaf: "exists" and all other operators do not see
// intermediate nodes (with-ddb-filtering.html, "Using the Exists operator").
func matchesLeaf(list []any, leaf any) bool {
	switch v := leaf.(type) {
	case map[string]any:
		return false
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return matchesLeaf(list, e) })
	}
	return slices.ContainsFunc(list, func(entry any) bool {
		ok, _ := holds(entry, leaf)
		return ok
	})
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
