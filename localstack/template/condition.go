package template

import "fmt"

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
