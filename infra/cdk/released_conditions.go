package main

import (
	"maps"
	"slices"
	"strings"
)

// wrap has what refers to something that is not always there be there only with it. within are the
// conditions of what the value is a part of.
func (r *releasing) wrap(value any, within ...string) any {
	if value, is := value.(object); is {
		condition := r.condition(value, within...)
		choice, chosen := value["Fn::If"].([]any)
		switch {
		case condition == "":
			return value
		case value["Effect"] != nil && isFunction(value["Resource"]), isFunction(value) && !chosen:
			return when(condition, r.wrap(value, append(slices.Clone(within), condition)...), nothing())
		case chosen:
			return when(choice[0].(string),
				r.wrap(choice[1], append(slices.Clone(within), choice[0].(string))...),
				r.wrap(choice[2], within...))
		}
	}
	return anew(value, func(key string, inner any) any {
		switch key {
		case "DashboardBody": // a line of what is not there has no name
			return r.wrapText(inner)
		case "AlarmRule":
			return r.wrapRule(inner)
		case "DependsOn":
			return inner
		}
		return r.wrap(inner, within...)
	})
}

// wrapText has the parts of a text be empty that are not there.
func (r *releasing) wrapText(text any) any {
	join, is := text.(object)["Fn::Join"].([]any)
	if !is {
		return text
	}
	parts := slices.Clone(join[1].([]any))
	for i, part := range parts {
		if condition := r.condition(part); condition != "" {
			parts[i] = when(condition, part, "")
		}
	}
	return object{"Fn::Join": []any{join[0], parts}}
}

// wrapRule has a composite alarm look at alarms that are there.
func (r *releasing) wrapRule(rule any) any {
	var terms []any
	for _, part := range rule.(object)["Fn::Join"].([]any)[1].([]any) {
		if _, is := part.(object); !is {
			continue
		}
		var term any = object{"Fn::Join": []any{"", []any{`ALARM("`, part, `")`}}}
		if condition := r.condition(part); condition != "" {
			term = when(condition, term, "FALSE")
		}
		terms = append(terms, term)
	}
	return object{"Fn::Join": []any{" OR ", terms}}
}

// condition is that of the first thing that a value refers to and that is not always there where
// these conditions hold.
func (r *releasing) condition(value any, within ...string) string {
	switch value := value.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			name, _ := value[key].(string)
			if list, is := value[key].([]any); is && key == "Fn::GetAtt" {
				name, _ = list[0].(string)
			}
			condition := r.optional[name]
			if key != "Ref" && key != "Fn::GetAtt" {
				condition = ""
			}
			if condition != "" && !slices.Contains(within, condition) {
				return condition
			}
			if condition := r.condition(value[key], within...); condition != "" && key != "DependsOn" {
				return condition
			}
		}
	case []any:
		for _, inner := range value {
			if condition := r.condition(inner, within...); condition != "" {
				return condition
			}
		}
	}
	return ""
}

func isFunction(value any) bool {
	o, is := value.(object)
	for key := range o {
		return is && len(o) == 1 && (key == "Ref" || strings.HasPrefix(key, "Fn::"))
	}
	return false
}
