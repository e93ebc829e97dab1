package eventsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// compileValue reads one element of a list of values: a scalar, which has to be equal, or an object
// with one operator.
func compileValue(value any) (matcher, error) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) != 1 {
			return nil, fmt.Errorf("an operator has exactly one key, this has %d", len(v))
		}
		for name, operand := range v {
			return compileOperator(name, operand)
		}
	case []any:
		return nil, errors.New("a list inside a list of values")
	}
	return func(other any) bool { return other == value }, nil // a number by its digits
}

// compileOperator reads {"name": operand}.
func compileOperator(name string, operand any) (matcher, error) {
	text, isText := operand.(string)
	_, isBool := operand.(bool)
	switch {
	case name == "prefix" && isText:
		return onString(func(s string) bool { return strings.HasPrefix(s, text) }), nil
	case name == "suffix" && isText:
		return onString(func(s string) bool { return strings.HasSuffix(s, text) }), nil
	case name == "equals-ignore-case" && isText:
		return onString(func(s string) bool { return strings.EqualFold(s, text) }), nil
	case name == "anything-but":
		return compileAnythingBut(operand)
	case name == "exists" && isBool:
		// Only {"exists": true} comes here, and only with a leaf that exists.
		return func(any) bool { return true }, nil
	}
	return nil, fmt.Errorf("operator %q of %v is not run here: there are prefix, suffix and "+
		"equals-ignore-case of a string, anything-but, and exists of true or false", name, operand)
}

// onString is a matcher that only strings can pass.
func onString(match func(string) bool) matcher {
	return func(value any) bool {
		s, ok := value.(string)
		return ok && match(s)
	}
}

// compileAnythingBut reads a string, a number, or a list of them.
func compileAnythingBut(operand any) (matcher, error) {
	list, ok := operand.([]any)
	if !ok {
		list = []any{operand}
	}
	for _, value := range list {
		_, isText := value.(string)
		_, isNumber := value.(json.Number)
		if !isText && !isNumber {
			return nil, errors.New("anything-but needs strings or numbers")
		}
	}
	return func(value any) bool { return !slices.Contains(list, value) }, nil
}
