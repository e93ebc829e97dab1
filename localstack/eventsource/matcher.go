package eventsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxNumeric bounds the numbers that numeric matching knows: -5.0e9 to 5.0e9, from "Comparison
// operators for use in event patterns in Amazon EventBridge" (eb-create-pattern-operators.html).
const maxNumeric = 5e9

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
	case json.Number:
		return equalsNumber(v), nil
	}
	return func(other any) bool { return other == value }, nil
}

// compileOperator reads {"name": operand}.
func compileOperator(name string, operand any) (matcher, error) {
	switch name {
	case "prefix":
		return compileAffix(name, operand, strings.HasPrefix, func(s, fix string) string { return s[:len(fix)] })
	case "suffix":
		return compileAffix(name, operand, strings.HasSuffix, func(s, fix string) string { return s[len(s)-len(fix):] })
	case "equals-ignore-case":
		want, ok := operand.(string)
		if !ok {
			return nil, fmt.Errorf("%s needs a string", name)
		}
		return onString(func(s string) bool { return strings.EqualFold(s, want) }), nil
	case "anything-but":
		return compileAnythingBut(operand)
	case "numeric":
		return compileNumeric(operand)
	case "exists":
		if _, ok := operand.(bool); !ok {
			return nil, errors.New("exists needs true or false")
		}
		// Only {"exists": true} comes here, and only with a leaf that exists.
		return func(any) bool { return true }, nil
	default:
		return nil, fmt.Errorf("operator %q is not one of Lambda's event filtering", name)
	}
}

// onString is a matcher that only strings can pass.
func onString(match func(string) bool) matcher {
	return func(value any) bool {
		s, ok := value.(string)
		return ok && match(s)
	}
}

// compileAffix reads the operand of prefix and suffix: a string, or an object with
// equals-ignore-case. cut takes the part of a string that lies where the affix would be.
func compileAffix(name string, operand any, has func(s, fix string) bool, cut func(s, fix string) string) (matcher, error) {
	switch v := operand.(type) {
	case string:
		return onString(func(s string) bool { return has(s, v) }), nil
	case map[string]any:
		fix, ok := v["equals-ignore-case"].(string)
		if ok && len(v) == 1 {
			return onString(func(s string) bool { return len(s) >= len(fix) && strings.EqualFold(cut(s, fix), fix) }), nil
		}
	}
	return nil, fmt.Errorf("%s needs a string or an object with equals-ignore-case", name)
}

// compileAnythingBut reads a string, a number, or a list of only strings or only numbers.
func compileAnythingBut(operand any) (matcher, error) {
	list, ok := operand.([]any)
	if !ok {
		list = []any{operand}
	}
	if len(list) == 0 {
		return nil, errors.New("anything-but has an empty list")
	}
	var refused []matcher
	var strs, numbers int
	for _, value := range list {
		switch value.(type) {
		case string:
			strs++
		case json.Number:
			numbers++
		default:
			return nil, errors.New("anything-but needs strings or numbers")
		}
		m, err := compileValue(value)
		if err != nil {
			return nil, err
		}
		refused = append(refused, m)
	}
	if strs > 0 && numbers > 0 {
		return nil, errors.New("anything-but has strings and numbers in one list")
	}
	return func(value any) bool {
		for _, m := range refused {
			if m(value) {
				return false
			}
		}
		return true
	}, nil
}

// equalsNumber matches a JSON number of the same value, and one that numeric matching does not know
// by its digits.
func equalsNumber(want json.Number) matcher {
	wanted, known := numberValue(want)
	return func(value any) bool {
		n, ok := value.(json.Number)
		if !ok {
			return false
		}
		got, ok := numberValue(n)
		return n == want || known && ok && got == wanted
	}
}

// numberValue returns a number's value if numeric matching knows it.
func numberValue(n json.Number) (float64, bool) {
	f, err := n.Float64()
	return f, err == nil && f >= -maxNumeric && f <= maxNumeric
}

// compileNumeric reads the operand of numeric: one comparison, or a lower and an upper bound in
// this order, such as [">", 0, "<=", 5].
func compileNumeric(operand any) (matcher, error) {
	list, ok := operand.([]any)
	if !ok || (len(list) != 2 && len(list) != 4) {
		return nil, errors.New(`numeric needs a list such as ["=", 5] or [">", 0, "<=", 5]`)
	}
	var tests []func(float64) bool
	var bounds []float64
	var signs []string
	for i := 0; i < len(list); i += 2 {
		sign, _ := list[i].(string)
		number, ok := list[i+1].(json.Number)
		if !ok {
			return nil, fmt.Errorf("numeric: operand of %q is not a number", sign)
		}
		bound, ok := numberValue(number)
		if !ok {
			return nil, fmt.Errorf("numeric: %s is not within -5.0e9 and 5.0e9", number)
		}
		test, ok := comparison(sign, bound)
		if !ok {
			return nil, fmt.Errorf("numeric: %q is not one of =, <, <=, >, >=", sign)
		}
		tests, bounds, signs = append(tests, test), append(bounds, bound), append(signs, sign)
	}
	if len(tests) == 2 && (signs[0][0] != '>' || signs[1][0] != '<' || bounds[0] >= bounds[1]) {
		return nil, errors.New("numeric: a range is a lower bound and then a greater upper bound")
	}
	return func(value any) bool {
		number, ok := value.(json.Number)
		if !ok {
			return false
		}
		got, ok := numberValue(number)
		for _, test := range tests {
			ok = ok && test(got)
		}
		return ok
	}, nil
}

func comparison(sign string, bound float64) (func(float64) bool, bool) {
	switch sign {
	case "=":
		return func(v float64) bool { return v == bound }, true
	case "<":
		return func(v float64) bool { return v < bound }, true
	case "<=":
		return func(v float64) bool { return v <= bound }, true
	case ">":
		return func(v float64) bool { return v > bound }, true
	case ">=":
		return func(v float64) bool { return v >= bound }, true
	}
	return nil, false
}
