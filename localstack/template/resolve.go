package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// resolver turns a template's values into plain ones. It resolves on demand: what nothing asks for
// is never looked at.
type resolver struct {
	doc        *Document
	options    Options
	parameters map[string]any
	conditions map[string]bool // those evaluated so far
	visiting   map[string]bool // names and conditions being resolved, against cycles
	// partial leaves references to foreign resources as they are, for the emulation of those to
	// resolve: what is built from such a reference stays a call of its function.
	partial bool
}

// noValue is what {"Ref": "AWS::NoValue"} resolves to: its holder drops the property or the list
// entry.
type noValue struct{}

// at puts a path before an error that has none yet.
func at(path string, err error) error {
	var placed *placedError
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return &placedError{path, err}
}

// placedError is an error with its place in the template.
type placedError struct {
	path  string
	cause error
}

func (e *placedError) Error() string { return e.path + ": " + e.cause.Error() }
func (e *placedError) Unwrap() error { return e.cause }

// value resolves all intrinsic functions inside v.
func (r *resolver) value(path string, v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if name, argument, ok := intrinsic(v); ok {
			if r.partial && name != "Fn::If" && r.mentionsForeign(v) {
				return r.partialCall(path, name, argument)
			}
			resolved, err := r.call(path, name, argument)
			return resolved, at(path, err)
		}
		return r.object(path, v)
	case []any:
		return r.list(path, v)
	}
	return v, nil
}

func (r *resolver) partialCall(path, name string, argument any) (any, error) {
	switch name {
	case "Ref", "Fn::GetAtt":
		return map[string]any{name: argument}, nil
	case "Fn::Sub":
		return nil, at(path, errors.New("Fn::Sub of a resource of another service is not known here: use Fn::Join"))
	}
	inner, err := r.value(join(path, name), argument)
	return map[string]any{name: inner}, err
}

func (r *resolver) object(path string, v map[string]any) (any, error) {
	out := make(map[string]any, len(v))
	for _, name := range sorted(v) {
		resolved, err := r.value(join(path, name), v[name])
		if err != nil {
			return nil, err
		}
		if _, drop := resolved.(noValue); !drop {
			out[name] = resolved
		}
	}
	return out, nil
}

func (r *resolver) list(path string, v []any) (any, error) {
	out := make([]any, 0, len(v))
	for i, entry := range v {
		resolved, err := r.value(fmt.Sprintf("%s[%d]", path, i), entry)
		if err != nil {
			return nil, err
		}
		if _, drop := resolved.(noValue); !drop {
			out = append(out, resolved)
		}
	}
	return out, nil
}

// intrinsic reports whether an object is a call of an intrinsic function.
func intrinsic(v map[string]any) (name string, argument any, ok bool) {
	if len(v) != 1 {
		return "", nil, false
	}
	for name, argument = range v {
		ok = name == "Ref" || strings.HasPrefix(name, "Fn::")
	}
	return name, argument, ok
}

// text resolves v to a string. Numbers and booleans are taken as their text, as CloudFormation
// does.
func (r *resolver) text(path string, v any) (string, error) {
	resolved, err := r.value(path, v)
	if err != nil {
		return "", err
	}
	s, ok := scalar(resolved)
	if !ok {
		return "", at(path, errors.New("must be a string"))
	}
	return s, nil
}

func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// texts resolves v to a list of strings.
func (r *resolver) texts(path string, v any) ([]string, error) {
	resolved, err := r.value(path, v)
	if err != nil {
		return nil, err
	}
	entries, ok := resolved.([]any)
	if !ok {
		return nil, at(path, errors.New("must be a list of strings"))
	}
	out := make([]string, len(entries))
	for i, entry := range entries {
		if out[i], ok = scalar(entry); !ok {
			return nil, at(fmt.Sprintf("%s[%d]", path, i), errors.New("must be a string"))
		}
	}
	return out, nil
}

// enter guards against a name that is defined by itself.
func (r *resolver) enter(what string) (leave func(), err error) {
	if r.visiting[what] {
		return nil, fmt.Errorf("%s is defined by itself", what)
	}
	r.visiting[what] = true
	return func() { delete(r.visiting, what) }, nil
}

// parameterValue is the value of a declared parameter: the caller's, or the template's default.
//
// A parameter of the type AWS::SSM::Parameter::Value<…> keeps its default as it is: there is no
// parameter store to look in, and the one that CDK writes (BootstrapVersion) has no local meaning.
func (r *resolver) parameterValue(name string, declaration any) (any, error) {
	path := "Parameters." + name
	object, ok := declaration.(map[string]any)
	if !ok {
		return nil, at(path, errors.New("must be an object"))
	}
	var value string
	if given, ok := r.options.Parameters[name]; ok {
		value = given
	} else if value, ok = scalar(object["Default"]); !ok {
		return nil, at(path, fmt.Errorf("has no default: give it a value (--parameter %s=…)", name))
	}
	if allowed, ok := object["AllowedValues"].([]any); ok {
		texts := make([]string, len(allowed))
		for i := range allowed {
			texts[i], _ = scalar(allowed[i])
		}
		if !slices.Contains(texts, value) {
			return nil, at(path, fmt.Errorf("must be one of %s, not %q", strings.Join(texts, ", "), value))
		}
	}
	kind, _ := object["Type"].(string)
	if kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		var list []any
		for entry := range strings.SplitSeq(value, ",") {
			list = append(list, strings.TrimSpace(entry))
		}
		return list, nil
	}
	return value, nil
}
