package cloudformation

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/sink"
)

// adapt makes of a stack of the CDK's what a file has: see the package comment.
func adapt(template object) error {
	resources := template["Resources"].(object)
	for id, value := range resources {
		resource := value.(object)
		switch resource["Type"] {
		case "AWS::Lambda::Version":
			delete(resources, id)
		case "AWS::Lambda::Alias":
			resource["Properties"].(object)["FunctionVersion"] = "$LATEST"
		case "AWS::Lambda::Function":
			if err := adaptFunction(id, resource); err != nil {
				return err
			}
		}
		delete(resource, "Metadata")
	}
	for _, id := range []string{"SweepFunction", "EnqueueFunction", "SortFunction", "DeliveryFunction"} {
		variables(resources, id)["STREAMSORT_READERS"] = object{"Ref": "Consumers"} // some may be eager
	}
	delete(variables(resources, "DeliveryFunction"), endpoint.ConsumersVariable) // the parameter's are not known
	if resources["ProcessFunction"] != nil {
		for _, id := range []string{"ProcessFunction", "ProcessSlowFunction"} {
			variables(resources, id)[consumers.TextVariable] = object{"Ref": "Consumers"}
		}
		if err := allowSinks(resources["ProcessPolicy"].(object)); err != nil {
			return err
		}
		// Archives are erased with their queues.
		addStatement(resources["SweepPolicy"].(object), ifSinks(object{
			"Effect": "Allow", "Action": []any{"s3:DeleteObject", "s3:ListBucket"}, "Resource": theSinks(),
		}))
	}
	for _, section := range []string{"Resources", "Outputs"} {
		template[section] = renamed(template[section])
	}
	return nil
}

func variables(resources object, id string) object {
	properties := resources[id].(object)["Properties"].(object)
	return properties["Environment"].(object)["Variables"].(object)
}

// adaptFunction has a function's program come from the release's zip.
func adaptFunction(id string, resource object) error {
	source, is := resource["Metadata"].(object)["streamsort:source"].(string)
	if !is {
		return fmt.Errorf("%s does not say what it is built of", id)
	}
	resource["Properties"].(object)["Code"] = object{
		"S3Bucket": object{"Ref": "ArtifactBucket"},
		"S3Key":    object{"Fn::Sub": "${ArtifactPrefix}" + path.Base(source) + "_" + Version + "_${Architecture}.zip"},
	}
	return nil
}

// allowSinks allows process what every kind of sink asks for, on the ARNs of the parameter: an
// action on a resource of another service is none.
func allowSinks(policy object) error {
	document := policy["Properties"].(object)["PolicyDocument"].(object)
	statements := document["Statement"].([]any)
	at := slices.IndexFunc(statements, func(s any) bool { return reflect.DeepEqual(s.(object)["Resource"], sampleSink()) })
	if at < 0 {
		return fmt.Errorf("no statement of ProcessPolicy is about the sink alone")
	}
	// What signs requests may be a secret, which the kind says, or a parameter.
	actions := []string{"kms:Decrypt", "kms:GenerateDataKey", "ssm:GetParameter"}
	events := object{
		"Effect": "Allow", "Resource": theSinks(),
		"Condition": object{"ForAllValues:StringEquals": object{"events:source": announce.Source}},
	}
	for _, kind := range sink.Kinds() {
		if strings.HasPrefix(kind.Action, "events:") {
			events["Action"] = kind.Action
		} else if kind.Action != "" {
			actions = append(actions, kind.Action)
		}
	}
	slices.Sort(actions)
	allowed := object{"Effect": "Allow", "Action": texts(actions), "Resource": theSinks()}
	document["Statement"] = slices.Replace(statements, at, at+1, ifSinks(allowed), ifSinks(events))
	return nil
}

// theSinks are the ARNs of the parameter.
func theSinks() object { return object{"Fn::Split": []any{",", object{"Ref": "Sinks"}}} }

// ifSinks is a statement about them, where there are any.
func ifSinks(statement object) any {
	return object{"Fn::If": []any{sinksHaveARNs, statement, nothing()}}
}

// addStatement adds a statement to a policy.
func addStatement(policy object, statement any) {
	document := policy["Properties"].(object)["PolicyDocument"].(object)
	document["Statement"] = append(document["Statement"].([]any), statement)
}

// sinksHaveARNs is the condition that there is something to allow.
const sinksHaveARNs = "SinksHaveArns"

func texts(all []string) []any {
	list := make([]any, len(all))
	for i, text := range all {
		list[i] = text
	}
	return list
}

// renamed has the name of the stack that is deployed where there is that of the synthesis.
func renamed(value any) any {
	switch value := value.(type) {
	case object:
		made := maps.Clone(value)
		for key, inner := range made {
			made[key] = renamed(inner)
		}
		return made
	case []any:
		made := slices.Clone(value)
		for i, inner := range made {
			made[i] = renamed(inner)
		}
		return made
	case string:
		return substituted(value, stackName, "AWS::StackName")
	}
	return value
}

// substituted is a text with a reference for a part of it, as CloudFormation writes it.
func substituted(text, part, name string) any {
	switch {
	case text == part:
		return object{"Ref": name}
	case strings.Contains(text, part):
		return object{"Fn::Sub": strings.ReplaceAll(strings.ReplaceAll(text, "${", "${!"), part, "${"+name+"}")}
	}
	return text
}
