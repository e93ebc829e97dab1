package template

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// call evaluates one intrinsic function ("Intrinsic function reference" of the AWS CloudFormation
// Template Reference).
func (r *resolver) call(path, name string, argument any) (any, error) {
	path = join(path, name)
	switch name {
	case "Ref":
		id, ok := argument.(string)
		if !ok {
			return nil, at(path, errors.New("must be a string"))
		}
		return r.ref(id)
	case "Fn::GetAtt":
		return r.getAtt(path, argument)
	case "Fn::Join":
		return r.join(path, argument)
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
		return r.importValue(path, argument)
	case "Fn::Base64":
		text, err := r.text(path, argument)
		return base64.StdEncoding.EncodeToString([]byte(text)), err
	}
	return nil, errors.New("intrinsic function " + name + " is not known")
}

// arguments checks that an intrinsic function has a list of min to max entries.
func arguments(path string, argument any, low, high int) ([]any, error) {
	list, ok := argument.([]any)
	if !ok || len(list) < low || len(list) > high {
		if low == high {
			return nil, at(path, fmt.Errorf("must be a list of %d values", low))
		}
		return nil, at(path, fmt.Errorf("must be a list of %d to %d values", low, high))
	}
	return list, nil
}

// two are the arguments of an intrinsic function that has two, of which the first is a text.
func (r *resolver) two(path string, argument any) (first string, second any, err error) {
	list, err := arguments(path, argument, 2, 2)
	if err != nil {
		return "", nil, err
	}
	first, err = r.text(path+"[0]", list[0])
	return first, list[1], err
}

func (r *resolver) ref(id string) (any, error) {
	if strings.HasPrefix(id, "AWS::") {
		return r.pseudo(id)
	}
	if value, ok := r.parameters[id]; ok {
		return value, nil
	}
	return r.attribute(id, "")
}

func (r *resolver) pseudo(id string) (any, error) {
	switch id {
	case "AWS::AccountId":
		return Account, nil
	case "AWS::Region":
		return Region, nil
	case "AWS::Partition":
		return Partition, nil
	case "AWS::URLSuffix":
		return urlSuffix, nil
	case "AWS::StackName":
		return r.options.Stack, nil
	case "AWS::StackId":
		return arn("cloudformation", "stack/"+r.options.Stack+"/local"), nil
	case "AWS::NotificationARNs":
		return []any{}, nil
	case "AWS::NoValue":
		return noValue{}, nil
	}
	return nil, fmt.Errorf("pseudo parameter %s is not known", id)
}

func (r *resolver) getAtt(path string, argument any) (any, error) {
	if text, ok := argument.(string); ok {
		id, attribute, _ := strings.Cut(text, ".")
		argument = []any{id, attribute}
	}
	list, err := arguments(path, argument, 2, 2)
	if err != nil {
		return nil, err
	}
	id, ok := list[0].(string)
	if !ok {
		return nil, at(path+"[0]", errors.New("must be a string"))
	}
	attribute, err := r.text(path+"[1]", list[1])
	if err != nil {
		return nil, err
	}
	if attribute == "" {
		return nil, at(path, errors.New("must name an attribute"))
	}
	return r.attribute(id, attribute)
}

func (r *resolver) join(path string, argument any) (any, error) {
	delimiter, list, err := r.two(path, argument)
	if err != nil {
		return nil, err
	}
	parts, err := r.texts(path+"[1]", list)
	return strings.Join(parts, delimiter), err
}

// sub replaces ${Name}, ${Resource.Attribute} and the names of its own map; ${!Name} stands for a
// literal ${Name}.
func (r *resolver) sub(path string, argument any) (any, error) {
	var own map[string]any
	if list, ok := argument.([]any); ok {
		if _, err := arguments(path, argument, 2, 2); err != nil {
			return nil, err
		}
		if own, ok = list[1].(map[string]any); !ok {
			return nil, at(path+"[1]", errors.New("must be an object"))
		}
		argument = list[0]
	}
	pattern, ok := argument.(string)
	if !ok {
		return nil, at(path, errors.New("must be a string, or a list of a string and an object"))
	}
	return replaceVariables(pattern, func(name string) (string, error) {
		if value, given := own[name]; given {
			return r.text(path+"[1]."+name, value)
		}
		value, err := r.variable(path, name)
		if err != nil {
			return "", err
		}
		text, ok := scalar(value)
		if !ok {
			return "", at(path, fmt.Errorf("${%s} must be a string", name))
		}
		return text, nil
	})
}

func (r *resolver) variable(path, name string) (any, error) {
	if id, attribute, dotted := strings.Cut(name, "."); dotted {
		value, err := r.attribute(id, attribute)
		return value, at(path, err)
	}
	value, err := r.ref(name)
	return value, at(path, err)
}

// replaceVariables rewrites each ${name} of a pattern for Fn::Sub.
func replaceVariables(pattern string, replace func(name string) (string, error)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("has a ${ without its }")
		}
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			out.WriteString("${" + literal + "}")
		} else {
			value, err := replace(strings.TrimSpace(name))
			if err != nil {
				return "", err
			}
			out.WriteString(value)
		}
		pattern = after
	}
}

func (r *resolver) selectEntry(path string, argument any) (any, error) {
	text, list, err := r.two(path, argument)
	if err != nil {
		return nil, err
	}
	entries, err := r.value(path+"[1]", list)
	if err != nil {
		return nil, err
	}
	from, ok := entries.([]any)
	if !ok {
		return nil, at(path+"[1]", errors.New("must be a list"))
	}
	index, err := strconv.Atoi(text)
	if err != nil || index < 0 || index >= len(from) {
		return nil, at(path+"[0]", fmt.Errorf("index %q is not in the list of %d entries", text, len(from)))
	}
	return from[index], nil
}

func (r *resolver) split(path string, argument any) (any, error) {
	delimiter, whole, err := r.two(path, argument)
	if err != nil {
		return nil, err
	}
	if delimiter == "" {
		return nil, at(path+"[0]", errors.New("must not be empty"))
	}
	text, err := r.text(path+"[1]", whole)
	if err != nil {
		return nil, err
	}
	var parts []any
	for part := range strings.SplitSeq(text, delimiter) {
		parts = append(parts, part)
	}
	return parts, nil
}

func (r *resolver) findInMap(path string, argument any) (any, error) {
	list, err := arguments(path, argument, 3, 4)
	if err != nil {
		return nil, err
	}
	keys, err := r.texts(path, list[:3])
	if err != nil {
		return nil, err
	}
	var value any = r.doc.mappings
	for _, key := range keys {
		level, _ := value.(map[string]any)
		value = level[key]
	}
	if value != nil {
		return value, nil
	}
	if len(list) == 4 {
		if options, ok := list[3].(map[string]any); ok && options["DefaultValue"] != nil {
			return r.value(path+"[3].DefaultValue", options["DefaultValue"])
		}
	}
	return nil, at(path, fmt.Errorf("the template has no Mappings.%s", strings.Join(keys, ".")))
}

func (r *resolver) importValue(path string, argument any) (any, error) {
	name, err := r.text(path, argument)
	if err != nil {
		return nil, err
	}
	value, ok := r.options.Imports[name]
	if !ok {
		return nil, at(path, &MissingImportError{Name: name})
	}
	return value, nil
}

// MissingImportError is the cause of an error of [Document.Read] where a template imports a value
// that no template of the run exports.
type MissingImportError struct{ Name string }

func (e *MissingImportError) Error() string {
	return fmt.Sprintf("no template of this run exports %q", e.Name)
}
