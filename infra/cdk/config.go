package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/constructs-go/constructs/v10"

	"github.com/streamsort/streamsort/infra/cdk/streamsort"
)

// prefix is what the app's keys in the CDK's context start with.
const prefix = "streamsort:"

// boundaryKey is the CDK's own key of the permissions boundary of all roles.
const boundaryKey = "@aws-cdk/core:permissionsBoundary"

// addStack adds the stack that the context describes: streamsort:stack is its id ("Streamsort"),
// streamsort:<property> each of its properties.
func addStack(app constructs.Construct) (*streamsort.Stack, error) {
	values := map[string]any{}
	context, ok := app.Node().GetAllContext(nil).(map[string]any)
	if !ok {
		return nil, errors.New("the context is not an object; fix cdk.json")
	}
	// The CDK passes over a boundary that is a text, and -c can give nothing else.
	if boundary, ok := context[boundaryKey].(string); ok {
		return nil, fmt.Errorf(`%s is the text %q, and the CDK takes an object: `+
			`write it into "context" of cdk.json as {"name": "POLICY"} or {"arn": "ARN"}`,
			boundaryKey, boundary)
	}
	for key, value := range context {
		if name, ours := strings.CutPrefix(key, prefix); ours {
			values[name] = value
		}
	}
	id, _ := values["stack"].(string)
	delete(values, "stack")
	props, err := readProps(values)
	if err != nil {
		return nil, err
	}
	return streamsort.NewStack(app, cmp.Or(id, "Streamsort"), props)
}

// readProps turns values by name into properties. A value comes as text from the command line, and
// as text, a number or a truth value from cdk.json.
func readProps(values map[string]any) (*streamsort.Props, error) {
	props := &streamsort.Props{}
	functions := map[string]*streamsort.FunctionProps{}
	for _, name := range streamsort.FunctionNames() {
		functions[name] = &streamsort.FunctionProps{}
	}
	fields := settable(props, functions)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field, known := fields[name]
		if !known {
			errs = append(errs, fmt.Errorf("%s%s is unknown; known are stack, %s", prefix, name,
				strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
			continue
		}
		written := text(values[name])
		if err := set(field, written); err != nil {
			errs = append(errs, fmt.Errorf("%s%s is %q; write %w", prefix, name, written, err))
		}
	}
	props.Functions = map[string]streamsort.FunctionProps{}
	for name, takes := range functions {
		props.Functions[name] = *takes
	}
	return props, errors.Join(errs...)
}

// text is a value as it would be written on the command line.
func text(value any) string {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// settable are the fields that a text can say, by their names in the context: those of the struct
// with a small first letter (and apiRate for APIRate, functionUrl for FunctionURL, httpAllow for
// HTTPAllow), and those of the VPC and each function behind its name (sortMemory).
func settable(props *streamsort.Props,
	functions map[string]*streamsort.FunctionProps) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	value := reflect.ValueOf(props).Elem()
	for i := range value.NumField() {
		field := value.Field(i)
		name := value.Type().Field(i).Name
		name = strings.NewReplacer("API", "Api", "URL", "Url", "HTTP", "Http", "VPC", "Vpc").Replace(name)
		name = strings.ToLower(name[:1]) + name[1:]
		switch field.Kind() {
		case reflect.Slice, reflect.Map: // a file says them
		case reflect.Struct:
			addMembers(fields, name, field)
		default:
			fields[name] = field
		}
	}
	for name, takes := range functions {
		addMembers(fields, name, reflect.ValueOf(takes).Elem())
	}
	return fields
}

func addMembers(fields map[string]reflect.Value, name string, value reflect.Value) {
	for i := range value.NumField() {
		fields[name+value.Type().Field(i).Name] = value.Field(i)
	}
}

// set sets a field from its text. The error says what to write.
func set(field reflect.Value, written string) error {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		return set(field.Elem(), written)
	}
	switch {
	case field.Type() == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(written)
		if err != nil {
			return errors.New("a duration such as 90s, 5m or 336h")
		}
		field.SetInt(int64(d))
	case field.CanInt():
		n, err := strconv.ParseInt(written, 10, field.Type().Bits())
		if err != nil {
			return errors.New("a whole number")
		}
		field.SetInt(n)
	case field.Kind() == reflect.Bool:
		if written != "true" && written != "false" {
			return errors.New("true or false")
		}
		field.SetBool(written == "true")
	default:
		field.SetString(written)
	}
	return nil
}
