package cloudformation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/sink"
)

// Version stands in the template where a release has its version.
const Version = "VERSION"

// stackName is the stack's while it is synthesised: a text that nothing else in a template has.
const stackName = "stack-name-of-who-deploys"

// object is a JSON object.
type object = map[string]any

// Synthesize is the stack's template, as the CDK writes it, for these properties: those of the
// app's configuration, by their names there.
type Synthesize func(properties map[string]string) ([]byte, error)

// Build makes the template. The error says what of the stack the parameters do not explain.
func Build(synthesize Synthesize) ([]byte, error) {
	folder, err := os.MkdirTemp("", "streamsort-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	consumers := filepath.Join(folder, "consumers.json")
	if err := os.WriteFile(consumers, sampleConsumers(), 0o600); err != nil {
		return nil, err
	}
	b := builder{synthesize, withSamples(), map[string]string{"stack": stackName}}
	for i, p := range b.parameters {
		if p.Prop == "sinks" {
			b.parameters[i].on = consumers
		}
	}
	for _, p := range b.parameters {
		if p.condition != "" {
			b.base[p.property()] = p.on
		}
	}
	return b.build()
}

// property is the stack's that a parameter with a condition switches.
func (p Parameter) property() string {
	if p.Prop == "sinks" {
		return "consumersFile"
	}
	return p.Prop
}

// sampleConsumers is a file whose process may do all that one can be asked for, but for what
// it hands batches to: that is the parameter's.
func sampleConsumers() []byte {
	return fmt.Appendf(nil, `{"consumers":[{"name":"sample","eager":true,"track":"1m","sink":{"kind":"lambda","arn":%q}},{"name":"endpoints","sink":{"kind":"http","endpoints":true}}]}`, sampleSink())
}

// sampleSink is the ARN of the sink in sampleConsumers.
func sampleSink() string {
	lambda, err := sink.KindOf("lambda")
	if err != nil {
		panic(err) // there is no process without it
	}
	return lambda.Example
}

type builder struct {
	synthesize Synthesize
	parameters []Parameter
	// base are the properties with which everything is on.
	base map[string]string
}

func (b builder) build() ([]byte, error) {
	full, err := b.valued(b.base)
	if err != nil {
		return nil, err
	}
	made, conditions := any(full), object{sinksHaveARNs: object{"Fn::Not": []any{equals("Sinks", noSinks)}}}
	for _, p := range b.parameters {
		if p.condition == "" {
			continue
		}
		properties := maps.Clone(b.base)
		properties[p.property()] = p.off
		without, err := b.valued(properties)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name(), err)
		}
		s := switching{parameter: p}
		if made, err = s.merge(nil, made, full, without); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name(), err)
		}
		if s.used {
			conditions[p.condition] = p.is()
		}
	}
	return b.encode(made.(object), conditions)
}

// is is the condition that the parameter is on.
func (p Parameter) is() object {
	if p.off == "" {
		return object{"Fn::Not": []any{equals(p.Name(), "")}}
	}
	return equals(p.Name(), p.on)
}

func equals(parameter, value string) object {
	return object{"Fn::Equals": []any{object{"Ref": parameter}, value}}
}

// valued is a template with parameters in the place of values.
func (b builder) valued(properties map[string]string) (object, error) {
	plain, err := b.template(properties)
	if err != nil {
		return nil, err
	}
	sampled := maps.Clone(properties)
	v := values{texts: map[string]any{}, numbers: map[float64]any{}}
	for _, p := range b.parameters {
		if p.sample == "" || p.condition != "" && properties[p.property()] == p.off {
			continue
		}
		sampled[p.Prop] = p.sample
		texts, numbers := p.written()
		for text, put := range texts {
			if v.texts[text] != nil {
				return nil, fmt.Errorf("%s: another parameter has the sample %s too", p.Name(), text)
			}
			v.texts[text] = put
		}
		maps.Copy(v.numbers, numbers)
	}
	other, err := b.template(sampled)
	if err != nil {
		return nil, err
	}
	made, err := v.put(nil, plain, other)
	if err != nil {
		return nil, err
	}
	return made.(object), nil
}

// template is a template as the CDK writes it, adapted to a file.
func (b builder) template(properties map[string]string) (object, error) {
	text, err := b.synthesize(properties)
	if err != nil {
		return nil, err
	}
	var template object
	if err := json.Unmarshal(text, &template); err != nil {
		return nil, err
	}
	if err := adapt(template); err != nil {
		return nil, err
	}
	return template, nil
}

func (b builder) encode(template, conditions object) ([]byte, error) {
	parameters, labels := object{}, object{}
	var groups []any
	members := map[string][]string{}
	for _, p := range b.parameters {
		parameters[p.Name()] = p.declaration()
		labels[p.Name()] = object{"default": p.Name()}
		if members[p.Group] == nil {
			groups = append(groups, p.Group)
		}
		members[p.Group] = append(members[p.Group], p.Name())
	}
	for i, group := range groups {
		groups[i] = object{"Label": object{"default": group}, "Parameters": members[group.(string)]}
	}
	template["AWSTemplateFormatVersion"] = "2010-09-09"
	template["Description"] = "Streamsort " + Version + ": messages in any order in, in-order batches out"
	template["Metadata"] = object{"AWS::CloudFormation::Interface": object{"ParameterGroups": groups}}
	template["Parameters"], template["Conditions"], template["Rules"] = parameters, conditions, rules()
	if err := refersTo(template, parameters); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(template)
	return out.Bytes(), err
}

// refersTo reports parameters that nothing in the resources refers to: they would be settings
// without an effect.
func refersTo(template, parameters object) error {
	text, err := json.Marshal([]any{template["Resources"], template["Conditions"]})
	if err != nil {
		return err
	}
	var errs []error
	for name := range parameters {
		if !bytes.Contains(text, []byte(`{"Ref":"`+name+`"}`)) && !bytes.Contains(text, []byte("${"+name+"}")) {
			errs = append(errs, fmt.Errorf("parameter %s has no effect", name))
		}
	}
	return errors.Join(errs...)
}

// rules are what no parameter says by itself.
func rules() object {
	given := func(parameter string) object { return object{"Fn::Not": []any{equals(parameter, "")}} }
	rule := func(says string, when, must object) object {
		return object{"RuleCondition": when, "Assertions": []any{object{"Assert": must, "AssertDescription": says}}}
	}
	return object{
		"SinksHaveConsumers": rule("Sinks are given, and no Consumers; give both", given("Sinks"), given("Consumers")),
	}
}
