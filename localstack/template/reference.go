package template

import (
	"crypto/sha256"
	"encoding/hex"
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
func (r *resolver) attribute(path, id, name string) string {
	resource, ok := r.doc.resources[id]
	if !ok {
		panic(invalid(path, "%s is neither a parameter nor a resource of the template", id))
	}
	if resource.condition != "" && !r.condition(path, resource.condition) {
		panic(invalid(path, "refers to %s, which its condition %s leaves out", id, resource.condition))
	}
	if r.doc.foreign[id] {
		if r.options.Foreign == nil {
			panic(invalid(path, "%s (%s) belongs to a service that is not running", id, resource.typ))
		}
		value, err := r.options.Foreign(id, name)
		if err != nil {
			panic(&placedError{path, err})
		}
		return value
	}
	defer r.enter(path, strings.TrimSuffix(id+"."+name, "."))()
	value := r.attributeOf(resource.typ, id, r.physicalName(id), name)
	if value == "" {
		panic(invalid(path, "%s (%s) has no attribute %s here", id, resource.typ, name))
	}
	return value
}

// attributeOf is the value of one attribute, empty where the type has none of that name.
func (r *resolver) attributeOf(typ, id, physical, name string) string {
	switch typ {
	case "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable":
		return values{"": physical, "Arn": arn("dynamodb", "table/"+physical),
			"StreamArn": StreamARN(physical)}[name]
	case "AWS::Lambda::Function":
		return values{"": physical, "Arn": FunctionARN(physical)}[name]
	case "AWS::Lambda::Version", "AWS::Lambda::Alias":
		qualifier := "1"
		if typ == "AWS::Lambda::Alias" {
			qualifier = r.property(id, "Name")
		}
		qualified := FunctionARN(FunctionName(r.property(id, "FunctionName"))) + ":" + qualifier
		return values{"": qualified, "FunctionArn": qualified, "AliasArn": qualified,
			"Version": qualifier}[name]
	case "AWS::Lambda::Url":
		if name == "FunctionUrl" {
			return r.endpoint(id) + "/"
		}
		function := FunctionARN(FunctionName(r.property(id, "TargetFunctionArn")))
		return values{"": function, "FunctionArn": function}[name]
	case "AWS::Lambda::EventSourceMapping":
		return values{"": UUID(physical), "Id": UUID(physical)}[name]
	case "AWS::ApiGatewayV2::Api":
		if name == "ApiEndpoint" {
			return r.endpoint(id)
		}
		return values{"": apiID(physical), "ApiId": apiID(physical)}[name]
	case "AWS::ApiGatewayV2::Stage":
		return values{"": physical}[name]
	case "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Authorizer", "AWS::ApiGatewayV2::Route":
		return values{"": id, strings.TrimPrefix(typ, "AWS::ApiGatewayV2::") + "Id": id}[name]
	case "AWS::Events::Rule":
		return values{"": physical, "Arn": arn("events", "rule/"+physical)}[name]
	case "AWS::SQS::Queue":
		url := "https://sqs." + Region + "." + urlSuffix + "/" + Account + "/" + physical
		return values{"": url, "QueueUrl": url, "QueueName": physical,
			"Arn": QueueARN(physical)}[name]
	}
	return ignoredAttribute(typ, physical, name)
}

// values are those of a type's attributes, by their names: that of Ref has none.
type values map[string]string

// ignoredAttribute gives a resource without local meaning a name and ARNs of the right shape, so
// that values that mention it (a policy, an output) can be read.
func ignoredAttribute(typ, physical, name string) string {
	parts := strings.Split(strings.ToLower(typ), "::")
	switch {
	case name == "":
		return physical
	case strings.HasSuffix(name, "Arn") && len(parts) == 3:
		return arn(parts[1], parts[2]+"/"+physical)
	}
	return physical + "." + name
}

// property is a property of a resource, resolved.
func (r *resolver) property(id, name string) string {
	return r.text("Resources."+id+".Properties."+name, r.doc.resources[id].properties[name])
}

func (r *resolver) endpoint(id string) string {
	if r.options.Endpoint == nil {
		panic(invalid("Resources."+id, "nothing listens here"))
	}
	url, err := r.options.Endpoint(id, r.doc.resources[id].typ)
	if err != nil {
		panic(&placedError{"Resources." + id, err})
	}
	return url
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
func (r *resolver) physicalName(id string) string {
	resource := r.doc.resources[id]
	if property := nameProperties[resource.typ]; property != "" &&
		resource.properties[property] != nil {
		path := "Resources." + id + ".Properties." + property
		if value := r.value(path, resource.properties[property]); value != any(noValue{}) {
			name, ok := scalar(value)
			if !ok || name == "" {
				panic(invalid(path, "must be a string that is not empty"))
			}
			return name
		}
	}
	return shorten(r.options.Stack + "-" + id)
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
