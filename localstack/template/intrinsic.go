package template

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// call evaluates one intrinsic function ("Intrinsic function reference" of the AWS CloudFormation
// Template Reference).
func (r *resolver) call(path, name string, argument any) any {
	switch name {
	case "Ref":
		return r.ref(path, literal(path, argument))
	case "Fn::GetAtt":
		return r.getAtt(path, argument)
	case "Fn::Join":
		delimiter, list := r.two(path, argument)
		return strings.Join(r.texts(path+"[1]", list), delimiter)
	case "Fn::Sub":
		return r.sub(path, argument)
	case "Fn::Select":
		return r.selectEntry(path, argument)
	case "Fn::Split":
		return r.split(path, argument)
	case "Fn::If":
		return r.choose(path, argument)
	case "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not":
		return r.conditionCall(path, name, argument)
	case "Fn::FindInMap":
		return r.findInMap(path, argument)
	case "Fn::ImportValue":
		name := r.text(path, argument)
		value, ok := r.options.Imports[name]
		if !ok {
			panic(&placedError{path, &MissingImportError{Name: name}})
		}
		return value
	case "Fn::Base64":
		return base64.StdEncoding.EncodeToString([]byte(r.text(path, argument)))
	}
	panic(invalid(path, "intrinsic function %s is not known", name))
}

// literal is a string that no function makes.
func literal(path string, v any) string {
	text, ok := v.(string)
	if !ok {
		panic(invalid(path, "must be a string"))
	}
	return text
}

// arguments checks that an intrinsic function has a list of low to high entries.
func arguments(path string, argument any, low, high int) []any {
	list, ok := argument.([]any)
	if !ok || len(list) < low || len(list) > high {
		panic(invalid(path, "must be a list of %d to %d values", low, high))
	}
	return list
}

// two are the arguments of an intrinsic function that has two, of which the first is a text.
func (r *resolver) two(path string, argument any) (first string, second any) {
	list := arguments(path, argument, 2, 2)
	return r.text(path+"[0]", list[0]), list[1]
}

func (r *resolver) ref(path, id string) any {
	if strings.HasPrefix(id, "AWS::") {
		return r.pseudo(path, id)
	}
	if value, ok := r.parameters[id]; ok {
		return value
	}
	return r.attribute(path, id, "")
}

func (r *resolver) pseudo(path, id string) any {
	value, known := map[string]any{
		"AWS::AccountId": Account, "AWS::Region": Region, "AWS::Partition": Partition,
		"AWS::URLSuffix": urlSuffix, "AWS::StackName": r.options.Stack,
		"AWS::StackId":          arn("cloudformation", "stack/"+r.options.Stack+"/local"),
		"AWS::NotificationARNs": []any{}, "AWS::NoValue": noValue{},
	}[id]
	if !known {
		panic(invalid(path, "pseudo parameter %s is not known", id))
	}
	return value
}

func (r *resolver) getAtt(path string, argument any) any {
	if text, ok := argument.(string); ok {
		id, attribute, _ := strings.Cut(text, ".")
		argument = []any{id, attribute}
	}
	list := arguments(path, argument, 2, 2)
	id, attribute := literal(path+"[0]", list[0]), r.text(path+"[1]", list[1])
	if attribute == "" {
		panic(invalid(path, "must name an attribute"))
	}
	return r.attribute(path, id, attribute)
}

// sub replaces ${Name}, ${Resource.Attribute} and the names of its own map; ${!Name} stands for a
// literal ${Name}.
func (r *resolver) sub(path string, argument any) any {
	var own map[string]any
	if list, ok := argument.([]any); ok {
		arguments(path, argument, 2, 2)
		if own, ok = list[1].(map[string]any); !ok {
			panic(invalid(path+"[1]", "must be an object"))
		}
		argument = list[0]
	}
	return replaceVariables(path, literal(path, argument), func(name string) string {
		if value, given := own[name]; given {
			return r.text(path+"[1]."+name, value)
		}
		var value any
		if id, attribute, dotted := strings.Cut(name, "."); dotted {
			value = r.attribute(path, id, attribute)
		} else {
			value = r.ref(path, name)
		}
		text, ok := scalar(value)
		if !ok {
			panic(invalid(path, "${%s} must be a string", name))
		}
		return text
	})
}

// replaceVariables rewrites each ${name} of a pattern for Fn::Sub.
func replaceVariables(path, pattern string, replace func(name string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			panic(invalid(path, "has a ${ without its }"))
		}
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			out.WriteString("${" + literal + "}")
		} else {
			out.WriteString(replace(strings.TrimSpace(name)))
		}
		pattern = after
	}
}

func (r *resolver) selectEntry(path string, argument any) any {
	text, list := r.two(path, argument)
	from, ok := r.value(path+"[1]", list).([]any)
	if !ok {
		panic(invalid(path+"[1]", "must be a list"))
	}
	index, err := strconv.Atoi(text)
	if err != nil || index < 0 || index >= len(from) {
		panic(invalid(path+"[0]", "index %q is not in the list of %d entries", text, len(from)))
	}
	return from[index]
}

func (r *resolver) split(path string, argument any) any {
	delimiter, whole := r.two(path, argument)
	if delimiter == "" {
		panic(invalid(path+"[0]", "must not be empty"))
	}
	var parts []any
	for part := range strings.SplitSeq(r.text(path+"[1]", whole), delimiter) {
		parts = append(parts, part)
	}
	return parts
}

func (r *resolver) findInMap(path string, argument any) any {
	list := arguments(path, argument, 3, 4)
	keys := r.texts(path, list[:3])
	var value any = r.doc.mappings
	for _, key := range keys {
		level, _ := value.(map[string]any)
		value = level[key]
	}
	if value != nil {
		return value
	}
	if len(list) == 4 {
		if options, ok := list[3].(map[string]any); ok && options["DefaultValue"] != nil {
			return r.value(path+"[3].DefaultValue", options["DefaultValue"])
		}
	}
	panic(invalid(path, "the template has no Mappings.%s", strings.Join(keys, ".")))
}

// MissingImportError is the cause of an error of [Document.Read] where a template imports a value
// that no template of the run exports.
type MissingImportError struct{ Name string }

func (e *MissingImportError) Error() string {
	return fmt.Sprintf("no template of this run exports %q", e.Name)
}

// condition evaluates a named condition of the template ("Conditions" and "Condition functions" of
// the AWS CloudFormation Template Reference).
func (r *resolver) condition(path, name string) bool {
	if value, known := r.conditions[name]; known {
		return value
	}
	definition, ok := r.doc.conditions[name]
	if !ok {
		panic(invalid(path, "condition %q is not in the template", name))
	}
	defer r.enter(path, "condition "+name)()
	r.conditions[name] = r.truth("Conditions."+name, definition)
	return r.conditions[name]
}

// truth evaluates a condition function, or {"Condition": "Name"}.
func (r *resolver) truth(path string, v any) bool {
	object, ok := v.(map[string]any)
	if !ok || len(object) != 1 {
		panic(invalid(path, "must be one condition function"))
	}
	name := sorted(object)[0]
	if path = join(path, name); name != "Condition" {
		return r.conditionCall(path, name, object[name])
	}
	return r.condition(path, literal(path, object[name]))
}

func (r *resolver) conditionCall(path, name string, argument any) bool {
	switch name {
	case "Fn::Equals":
		left, right := r.two(path, argument)
		return left == r.text(path+"[1]", right)
	case "Fn::Not":
		return !r.truth(path+"[0]", arguments(path, argument, 1, 1)[0])
	case "Fn::And", "Fn::Or":
		// Every entry is looked at, so a mistake in one is found whatever the others say.
		result := name == "Fn::And"
		for i, entry := range arguments(path, argument, 2, 10) {
			if value := r.truth(fmt.Sprintf("%s[%d]", path, i), entry); value != (name == "Fn::And") {
				result = value
			}
		}
		return result
	}
	panic(invalid(path, "condition function %s is not known", name))
}

// choose is Fn::If: the second value where the condition holds, else the third.
func (r *resolver) choose(path string, argument any) any {
	list := arguments(path, argument, 3, 3)
	if r.condition(path, literal(path+"[0]", list[0])) {
		return r.value(path+"[1]", list[1])
	}
	return r.value(path+"[2]", list[2])
}
