package template

import (
	"errors"
	"fmt"
)

// condition evaluates a named condition of the template ("Conditions" and "Condition functions" of
// the AWS CloudFormation Template Reference).
func (r *resolver) condition(name string) (bool, error) {
	if value, known := r.conditions[name]; known {
		return value, nil
	}
	definition, ok := r.doc.conditions[name]
	if !ok {
		return false, fmt.Errorf("condition %q is not in the template", name)
	}
	leave, err := r.enter("condition " + name)
	if err != nil {
		return false, err
	}
	defer leave()
	value, err := r.truth("Conditions."+name, definition)
	if err != nil {
		return false, err
	}
	r.conditions[name] = value
	return value, nil
}

// truth evaluates a condition function, or {"Condition": "Name"}.
func (r *resolver) truth(path string, v any) (bool, error) {
	object, ok := v.(map[string]any)
	if !ok || len(object) != 1 {
		return false, at(path, errors.New("must be one condition function"))
	}
	var name string
	var argument any
	for name, argument = range object {
	}
	if name != "Condition" {
		value, err := r.conditionCall(join(path, name), name, argument)
		return value, at(path, err)
	}
	text, ok := argument.(string)
	if !ok {
		return false, at(path+".Condition", errors.New("must be a string"))
	}
	value, err := r.condition(text)
	return value, at(path, err)
}

func (r *resolver) conditionCall(path, name string, argument any) (bool, error) {
	switch name {
	case "Fn::Equals":
		left, other, err := r.two(path, argument)
		if err != nil {
			return false, err
		}
		right, err := r.text(path+"[1]", other)
		return left == right, err
	case "Fn::Not":
		list, err := arguments(path, argument, 1, 1)
		if err != nil {
			return false, err
		}
		value, err := r.truth(path+"[0]", list[0])
		return !value, err
	case "Fn::And", "Fn::Or":
		list, err := arguments(path, argument, 2, 10)
		if err != nil {
			return false, err
		}
		return r.combine(path, list, name == "Fn::And")
	}
	return false, fmt.Errorf("condition function %s is not known", name)
}

// combine is And of the list, or Or. Every entry is looked at, so a mistake in one is found
// whatever the others say.
func (r *resolver) combine(path string, list []any, and bool) (bool, error) {
	result := and
	for i, entry := range list {
		value, err := r.truth(fmt.Sprintf("%s[%d]", path, i), entry)
		if err != nil {
			return false, err
		}
		if value != and {
			result = value
		}
	}
	return result, nil
}

// choose is Fn::If: the second value where the condition holds, else the third.
func (r *resolver) choose(path string, argument any) (any, error) {
	list, err := arguments(path, argument, 3, 3)
	if err != nil {
		return nil, err
	}
	name, ok := list[0].(string)
	if !ok {
		return nil, at(path+"[0]", errors.New("must be the name of a condition"))
	}
	holds, err := r.condition(name)
	if err != nil {
		return nil, at(path, err)
	}
	if holds {
		return r.value(path+"[1]", list[1])
	}
	return r.value(path+"[2]", list[2])
}
