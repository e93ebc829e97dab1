package template

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// arn is an ARN in the account and region that everything is read for.
func arn(service, resource string) string {
	return "arn:" + Partition + ":" + service + ":" + Region + ":" + Account + ":" + resource
}

// FunctionARN is the ARN of a Lambda function.
func FunctionARN(name string) string { return arn("lambda", "function:"+name) }

// StreamARN is the ARN by which a template's values name a table's stream. The server that holds
// the table gives the stream another one, which nobody can know before the table is made: the code
// that runs the stack replaces it.
func StreamARN(table string) string {
	return arn("dynamodb", "table/"+table+"/stream/2020-01-01T00:00:00.000")
}

// StreamTable is the name of the table whose stream an ARN names.
func StreamTable(streamARN string) (string, bool) {
	rest, ok := strings.CutPrefix(streamARN, arn("dynamodb", "table/"))
	name, _, isStream := strings.Cut(rest, "/stream/")
	return name, ok && isStream && name != ""
}

// FunctionName is the name of the function in an ARN, a partial ARN or a plain name, without
// version or alias ("Name formats" of Invoke, AWS Lambda API Reference).
func FunctionName(reference string) string {
	name, _ := splitFunction(reference)
	return name
}

// FunctionQualifier is the version or the alias that such a reference ends in; empty where it has
// none.
func FunctionQualifier(reference string) string {
	_, qualifier := splitFunction(reference)
	return qualifier
}

func splitFunction(reference string) (name, qualifier string) {
	if _, after, ok := strings.Cut(reference, "function:"); ok {
		reference = after
	} else if i := strings.IndexByte(reference, ':'); i == 12 {
		reference = reference[i+1:]
	}
	name, qualifier, _ = strings.Cut(reference, ":")
	return name, qualifier
}

// QueueARN is the ARN of an SQS queue.
func QueueARN(name string) string { return arn("sqs", name) }

// QueueName is the name of the queue in an SQS ARN.
func QueueName(queueARN string) (string, bool) {
	name, ok := strings.CutPrefix(queueARN, arn("sqs", ""))
	return name, ok && name != ""
}

// attribute is a resource's return value: that of Ref where name is empty, else of Fn::GetAtt
// ("Return values" of each type's page in the AWS CloudFormation Template Reference).
func (r *resolver) attribute(id, name string) (any, error) {
	resource, ok := r.doc.resources[id]
	if !ok {
		return nil, fmt.Errorf("%s is neither a parameter nor a resource of the template", id)
	}
	if resource.condition != "" {
		there, err := r.condition(resource.condition)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, fmt.Errorf("refers to %s, which its condition %s leaves out", id, resource.condition)
		}
	}
	if r.doc.foreign[id] {
		if r.options.Foreign == nil {
			return nil, fmt.Errorf("%s (%s) belongs to a service that is not running", id, resource.typ)
		}
		return r.options.Foreign(id, name)
	}
	leave, err := r.enter(strings.TrimSuffix(id+"."+name, "."))
	if err != nil {
		return nil, err
	}
	defer leave()
	physical, err := r.physicalName(id)
	if err != nil {
		return nil, err
	}
	value, err := r.attributeOf(resource.typ, id, physical, name)
	if err == nil && value == "" {
		err = fmt.Errorf("%s (%s) has no attribute %s here", id, resource.typ, name)
	}
	return value, err
}

// attributeOf is the value of one attribute, empty where the type has none of that name.
func (r *resolver) attributeOf(typ, id, physical, name string) (string, error) {
	switch typ {
	case "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable":
		return pick(name, "", physical, "Arn", arn("dynamodb", "table/"+physical), "StreamArn", StreamARN(physical)), nil
	case "AWS::Lambda::Function":
		return pick(name, "", physical, "Arn", FunctionARN(physical)), nil
	case "AWS::Lambda::Version", "AWS::Lambda::Alias":
		return r.qualifiedFunction(id, name)
	case "AWS::Lambda::Url":
		return r.functionURL(id, name)
	case "AWS::Lambda::EventSourceMapping":
		return pick(name, "", UUID(physical), "Id", UUID(physical)), nil
	case "AWS::ApiGatewayV2::Api":
		if name == "ApiEndpoint" {
			return r.endpoint(id)
		}
		return pick(name, "", apiID(physical), "ApiId", apiID(physical)), nil
	case "AWS::ApiGatewayV2::Stage":
		return pick(name, "", physical), nil
	case "AWS::ApiGatewayV2::Integration":
		return pick(name, "", id, "IntegrationId", id), nil
	case "AWS::ApiGatewayV2::Authorizer":
		return pick(name, "", id, "AuthorizerId", id), nil
	case "AWS::ApiGatewayV2::Route":
		return pick(name, "", id, "RouteId", id), nil
	case "AWS::Events::Rule":
		return pick(name, "", physical, "Arn", arn("events", "rule/"+physical)), nil
	case "AWS::SQS::Queue":
		url := "https://sqs." + Region + "." + urlSuffix + "/" + Account + "/" + physical
		return pick(name, "", url, "QueueUrl", url, "QueueName", physical, "Arn", arn("sqs", physical)), nil
	}
	return ignoredAttribute(typ, physical, name), nil
}

// pick is the value that stands behind name in a list of name, value, ….
func pick(name string, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == name {
			return pairs[i+1]
		}
	}
	return ""
}

// ignoredAttribute gives a resource without local meaning a name and ARNs of the right shape, so
// that values that mention it (a policy, an output) can be read.
func ignoredAttribute(typ, physical, name string) string {
	switch {
	case name == "":
		return physical
	case strings.HasSuffix(name, "Arn"):
		parts := strings.Split(strings.ToLower(typ), "::")
		if len(parts) == 3 {
			return arn(parts[1], parts[2]+"/"+physical)
		}
	}
	return physical + "." + name
}

// qualifiedFunction is the return value of a version or an alias: the local stack runs one version
// of each function, under any qualifier.
func (r *resolver) qualifiedFunction(id, name string) (string, error) {
	resource := r.doc.resources[id]
	function, err := r.text("Resources."+id+".Properties.FunctionName", resource.properties["FunctionName"])
	if err != nil {
		return "", err
	}
	qualifier := "1"
	if resource.typ == "AWS::Lambda::Alias" {
		if qualifier, err = r.text("Resources."+id+".Properties.Name", resource.properties["Name"]); err != nil {
			return "", err
		}
	}
	qualified := FunctionARN(FunctionName(function)) + ":" + qualifier
	return pick(name, "", qualified, "FunctionArn", qualified, "AliasArn", qualified, "Version", qualifier), nil
}

func (r *resolver) functionURL(id, name string) (string, error) {
	if name == "FunctionUrl" {
		base, err := r.endpoint(id)
		return base + "/", err
	}
	function, err := r.text("Resources."+id+".Properties.TargetFunctionArn", r.doc.resources[id].properties["TargetFunctionArn"])
	if err != nil {
		return "", err
	}
	function = FunctionARN(FunctionName(function))
	return pick(name, "", function, "FunctionArn", function), nil
}

func (r *resolver) endpoint(id string) (string, error) {
	if r.options.Endpoint == nil {
		return "", errors.New("nothing listens for " + id)
	}
	return r.options.Endpoint(id, r.doc.resources[id].typ)
}

// nameProperties is where each type has a name of its own.
var nameProperties = map[string]string{
	"AWS::DynamoDB::Table":       "TableName",
	"AWS::DynamoDB::GlobalTable": "TableName",
	"AWS::Lambda::Function":      "FunctionName",
	"AWS::SQS::Queue":            "QueueName",
	"AWS::Events::Rule":          "Name",
	"AWS::ApiGatewayV2::Stage":   "StageName",
	"AWS::IAM::Role":             "RoleName",
	"AWS::Logs::LogGroup":        "LogGroupName",
}

// physicalName is the name that a resource has when it runs.
func (r *resolver) physicalName(id string) (string, error) {
	resource := r.doc.resources[id]
	if property := nameProperties[resource.typ]; property != "" && resource.properties[property] != nil {
		path := "Resources." + id + ".Properties." + property
		value, err := r.value(path, resource.properties[property])
		if err != nil {
			return "", err
		}
		if _, absent := value.(noValue); !absent {
			name, ok := scalar(value)
			if !ok || name == "" {
				return "", at(path, errors.New("must be a string that is not empty"))
			}
			return name, nil
		}
	}
	return shorten(r.options.Stack + "-" + id), nil
}

// shorten keeps a made-up name within the 64 characters that a function's name may have: the end of
// the name tells resources apart, so it stays.
func shorten(name string) string {
	const limit = 64
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:4]) + "-" + name[len(name)-limit+9:]
}

// apiID is a stable API id, of the form that AWS gives.
func apiID(physical string) string {
	sum := sha256.Sum256([]byte("api " + physical))
	return "a" + hex.EncodeToString(sum[:])[:9]
}

// UUID is the UUID of a text, always the same.
func UUID(text string) string {
	sum := sha256.Sum256([]byte("uuid " + text))
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}
