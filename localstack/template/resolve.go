package template

import (
	"encoding/json"
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

// placedError is an error with its place in the template. What resolves a value panics with one,
// and [try] returns it.
type placedError struct {
	path  string
	cause error
}

func (e *placedError) Error() string { return e.path + ": " + e.cause.Error() }
func (e *placedError) Unwrap() error { return e.cause }

func invalid(path, format string, args ...any) *placedError {
	return &placedError{path, fmt.Errorf(format, args...)}
}

// try is the error that do panics with.
func try(do func()) (err error) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case *placedError:
			err = thrown
		default:
			panic(thrown)
		}
	}()
	do()
	return nil
}

// value resolves all intrinsic functions inside v.
func (r *resolver) value(path string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if name, argument, ok := intrinsic(v); ok {
			if r.partial && name != "Fn::If" &&
				slices.ContainsFunc(references(v), func(id string) bool { return r.doc.foreign[id] }) {
				return r.partialCall(path, name, argument)
			}
			return r.call(join(path, name), name, argument)
		}
		out := make(map[string]any, len(v))
		for _, name := range sorted(v) {
			if resolved := r.value(join(path, name), v[name]); resolved != any(noValue{}) {
				out[name] = resolved
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for i, entry := range v {
			if resolved := r.value(fmt.Sprintf("%s[%d]", path, i), entry); resolved != any(noValue{}) {
				out = append(out, resolved)
			}
		}
		return out
	}
	return v
}

func (r *resolver) partialCall(path, name string, argument any) any {
	switch name {
	case "Ref", "Fn::GetAtt":
		return map[string]any{name: argument}
	case "Fn::Sub":
		panic(invalid(path, "Fn::Sub of a resource of another service is not known here: use Fn::Join"))
	}
	return map[string]any{name: r.value(join(path, name), argument)}
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
func (r *resolver) text(path string, v any) string {
	s, ok := scalar(r.value(path, v))
	if !ok {
		panic(invalid(path, "must be a string"))
	}
	return s
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
func (r *resolver) texts(path string, v any) []string {
	entries, ok := r.value(path, v).([]any)
	if !ok {
		panic(invalid(path, "must be a list of strings"))
	}
	out := make([]string, len(entries))
	for i, entry := range entries {
		if out[i], ok = scalar(entry); !ok {
			panic(invalid(fmt.Sprintf("%s[%d]", path, i), "must be a string"))
		}
	}
	return out
}

// enter guards against a name that is defined by itself.
func (r *resolver) enter(path, what string) (leave func()) {
	if r.visiting[what] {
		panic(invalid(path, "%s is defined by itself", what))
	}
	r.visiting[what] = true
	return func() { delete(r.visiting, what) }
}

// parameterValue is the value of a declared parameter: the caller's, or the template's default.
//
// A parameter of the type AWS::SSM::Parameter::Value<…> keeps its default as it is: there is no
// parameter store to look in, and the one that CDK writes (BootstrapVersion) has no local meaning.
func (r *resolver) parameterValue(name string, declaration any) any {
	path := "Parameters." + name
	object, ok := declaration.(map[string]any)
	if !ok {
		panic(invalid(path, "must be an object"))
	}
	var value string
	if given, ok := r.options.Parameters[name]; ok {
		value = given
	} else if value, ok = scalar(object["Default"]); !ok {
		panic(invalid(path, "has no default: give it a value (--parameter %s=…)", name))
	}
	if allowed, ok := object["AllowedValues"].([]any); ok {
		texts := make([]string, len(allowed))
		for i := range allowed {
			texts[i], _ = scalar(allowed[i])
		}
		if !slices.Contains(texts, value) {
			panic(invalid(path, "must be one of %s, not %q", strings.Join(texts, ", "), value))
		}
	}
	kind, _ := object["Type"].(string)
	if kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		var list []any
		for entry := range strings.SplitSeq(value, ",") {
			list = append(list, strings.TrimSpace(entry))
		}
		return list
	}
	return value
}
