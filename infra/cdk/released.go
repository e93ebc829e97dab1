package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/sink"
)

// releasing makes the template of a release of that of the whole stack.
type releasing struct {
	object
	version string
	// optional are the conditions of what is not always there, by the names of resources and
	// parameters.
	optional map[string]string
}

// given is the condition that a parameter is not empty, and is that it has a value.
func given(parameter string) object { return object{"Fn::Not": []any{is(parameter, "")}} }

func is(parameter, value string) object {
	return object{"Fn::Equals": []any{ref(parameter), value}}
}

func ref(name string) object { return object{"Ref": name} }

func nothing() object { return ref("AWS::NoValue") }

func when(condition string, value, otherwise any) object {
	return object{"Fn::If": []any{condition, value, otherwise}}
}

func conditions() object {
	all := object{
		"HasConfig": given("Config"),
		"HasConsumersFile": object{"Fn::And": []any{given("Config"), given("Sinks"),
			is("Consumers", "")}},
		"HasSinks":      given("Sinks"),
		"SinksHaveArns": object{"Fn::Not": []any{is("Sinks", noSinks)}},
		"IsSync":        is("Mode", "sync"), "HasFunctionUrl": is("FunctionUrl", "true"),
		"HasWebhooks": given("WebhookSecrets"),
		"HasTenants":  given("TenantIssuer"), "HasQuotas": is("Quotas", "true"),
		"TenantsOperate":  object{"Fn::And": []any{given("TenantIssuer"), given("TenantOperateScope")}},
		"HasProduceScope": given("TenantProduceScope"), "HasConsumeScope": given("TenantConsumeScope"),
		"HasTopic": given("AnnounceTopic"), "HasPageTopic": given("PageTopic"),
		"HasVpc":      object{"Fn::And": []any{given("Subnets"), given("SecurityGroups")}},
		"HasBoundary": given("PermissionsBoundary"), "HasTracing": is("Tracing", "true"),
		"HasSavedQueries": is("SavedQueries", "true"),
	}
	for i := range sources {
		all[fmt.Sprintf("HasSource%d", i+1)] = given(fmt.Sprintf("Source%d", i+1))
	}
	return all
}

// beginnings are how the logical ids begin of what has a condition.
func beginnings() map[string]string {
	all := map[string]string{
		"Process": "HasSinks", "CallProcess": "HasSinks", "Tenant": "HasTenants",
		"DownAlarm": "HasPageTopic",
		"Webhook":   "HasWebhooks", "ApiWebhook": "HasWebhooks", "PostWebhook": "HasWebhooks", "GetWebhook": "HasWebhooks",
	}
	for i := range sources {
		all[fmt.Sprintf("Source%d", i+1)] = fmt.Sprintf("HasSource%d", i+1)
	}
	return all
}

// build makes the template. withoutTenants is that of a stack that has a function URL in their
// place.
func (r *releasing) build(withoutTenants object) ([]byte, error) {
	resources := r.object["Resources"].(object)
	r.optional = map[string]string{
		"AnnounceTopic": "HasTopic", "TenantProduceScope": "HasProduceScope", "TenantConsumeScope": "HasConsumeScope",
	}
	for _, section := range []string{"Resources", "Outputs"} {
		for id, value := range withoutTenants[section].(object) {
			with, is := r.object[section].(object)[id].(object)
			switch {
			case !is:
				r.object[section].(object)[id] = value
				if section == "Resources" {
					r.optional[id] = "HasFunctionUrl"
				}
			case with["Type"] == "AWS::CloudWatch::Alarm":
				byTenants(with["Properties"].(object), value.(object)["Properties"].(object))
			}
		}
	}
	for id, value := range resources {
		resource := value.(object)
		if err := r.adapt(id, resource); err != nil {
			return nil, err
		}
		for begins, condition := range beginnings() {
			if strings.HasPrefix(id, begins) {
				r.optional[id] = condition
			}
		}
		switch scopes, _ := resource["Properties"].(object)["AuthorizationScopes"].([]any); {
		case resource["Type"] == "AWS::Logs::QueryDefinition":
			r.optional[id] = "HasSavedQueries"
		case len(scopes) == 1 && scopes[0] == "sample/Operate":
			r.optional[id] = "TenantsOperate"
		}
	}
	if err := r.policies(resources); err != nil {
		return nil, err
	}
	r.stages(resources)
	for _, section := range []string{"Resources", "Outputs"} {
		filled := fill("", r.object[section]).(object)
		for id, value := range filled {
			part := value.(object)
			own := r.optional[id]
			if section == "Outputs" {
				own = r.condition(part["Value"])
			}
			within := []string{own}
			if own == "TenantsOperate" {
				within = append(within, "HasTenants") // which it implies
			}
			filled[id] = r.wrap(part, within...)
			if own != "" {
				filled[id].(object)["Condition"] = own
			}
		}
		r.object[section] = filled
	}
	return r.encode()
}

func byTenants(with, without object) {
	for _, all := range []object{without, with} {
		for key := range all {
			if reflect.DeepEqual(with[key], without[key]) ||
				isFunction(with[key]) && with[key].(object)["Fn::If"] != nil {
				continue
			}
			values := []any{nothing(), nothing()}
			for i, of := range []object{with, without} {
				if of[key] != nil {
					values[i] = of[key]
				}
			}
			with[key] = when("HasTenants", values[0], values[1])
		}
	}
}

// adapt has a resource be what it is in a file: a function's program comes from the release's zip,
// its environment has the parameters, and aliases are on what was deployed last.
func (r *releasing) adapt(id string, resource object) error {
	properties, _ := resource["Properties"].(object)
	switch resource["Type"] {
	case "AWS::IAM::Role":
		properties["PermissionsBoundary"] = when("HasBoundary", ref("PermissionsBoundary"), nothing())
	case "AWS::Lambda::Version":
		delete(r.object["Resources"].(object), id)
	case "AWS::Lambda::Alias":
		properties["FunctionVersion"] = "$LATEST"
	case "AWS::Lambda::Function":
		source, is := resource["Metadata"].(object)["streamsort:source"].(string)
		if !is {
			return fmt.Errorf("%s does not say what it is built of", id)
		}
		properties["Code"] = object{
			"S3Bucket": ref("ArtifactBucket"),
			"S3Key": object{"Fn::Sub": "${ArtifactPrefix}" + path.Base(source) + "_" + r.version +
				"_${Architecture}.zip"},
		}
		properties["TracingConfig"] = object{"Mode": when("HasTracing", "Active", "PassThrough")}
		properties["VpcConfig"] = when("HasVpc",
			object{"SubnetIds": split("Subnets"), "SecurityGroupIds": split("SecurityGroups")}, nothing())
		adaptVariables(id, properties["Environment"].(object)["Variables"].(object))
	case "AWS::Lambda::EventSourceMapping":
		if id == "SortMapping" {
			properties["MaximumBatchingWindowInSeconds"] = when("IsSync", 1, 0)
		}
	case "AWS::ApiGatewayV2::Authorizer":
		properties["JwtConfiguration"].(object)["Audience"] = object{"Fn::Split": []any{",",
			ref("TenantAudience")}}
	}
	delete(resource, "Metadata")
	return nil
}

// adaptVariables puts the parameters into a function's environment, and where its files are.
func adaptVariables(id string, variables object) {
	for _, p := range parameters() {
		if p.variable == "" || variables[p.variable] == nil {
			continue
		}
		variables[p.variable] = ref(p.Name)
		if p.unit != "" {
			variables[p.variable] = object{"Fn::Sub": "${" + p.Name + "}" + p.unit}
		}
	}
	variables[assetfile.Variable] = when("HasConfig",
		object{"Fn::Sub": "s3://${ArtifactBucket}/${Config}"}, nothing())
	delete(variables, endpoint.ConsumersVariable) // the readers say it
	// they look after, move or show queues
	if variables["STREAMSORT_READERS"] != nil || id == "DeliveryFunction" {
		variables["STREAMSORT_READERS"] = when("HasConsumersFile", consumers.File, ref("Consumers"))
	}
	switch name := strings.TrimSuffix(id, "Function"); {
	case strings.HasPrefix(name, "Process"):
		variables[consumers.TextVariable] = ref("Consumers")
	case strings.HasPrefix(name, "Source"):
		variables["STREAMSORT_SOURCE"] = "source" + strings.TrimPrefix(name, "Source") + ".json"
	}
}

// policies has the functions' roles read the configuration, and use what the parameters name.
func (r *releasing) policies(resources object) error {
	ofQuotas := object{
		"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": []any{quota.Keys + "*"}},
	}
	config := when("HasConfig", object{
		"Effect": "Allow", "Action": "s3:GetObject",
		"Resource": object{"Fn::Sub": "arn:${AWS::Partition}:s3:::${ArtifactBucket}/${Config}*"},
	}, nothing())
	for id, value := range resources {
		resource := value.(object)
		properties, _ := resource["Properties"].(object)
		if resource["Type"] != "AWS::IAM::Policy" {
			continue
		}
		document := properties["PolicyDocument"].(object)
		var statements []any
		for _, value := range document["Statement"].([]any) {
			statement := value.(object)
			switch actions := fmt.Sprint(statement["Action"]); {
			case statement["Sid"] == "Vpc":
				statements = append(statements, when("HasVpc", statement, nothing()))
			case strings.Contains(actions, "xray:"):
				statements = append(statements, when("HasTracing", statement, nothing()))
			case reflect.DeepEqual(statement["Condition"], any(ofQuotas)):
				statements = append(statements, when("HasQuotas", statement, nothing()))
			case reflect.DeepEqual(statement["Resource"], any(sampleSink)):
				statements = append(statements, toSinks()...)
			case reflect.DeepEqual(statement["Resource"], any(sampleSecret)):
				statement["Action"] = []any{"kms:Decrypt", "secretsmanager:GetSecretValue", "ssm:GetParameter"}
				statement["Resource"] = split("WebhookSecrets")
				statements = append(statements, statement)
			default:
				statements = append(statements, statement)
			}
		}
		if resources[strings.TrimSuffix(id, "Policy")+"Function"] != nil {
			statements = append(statements, config)
		}
		if id == "SweepPolicy" { // archives are erased with their queues
			statements = append(statements, when("HasSinks", when("SinksHaveArns", object{
				"Effect": "Allow", "Action": []any{"s3:DeleteObject", "s3:ListBucket"},
				"Resource": split("Sinks"),
			}, nothing()), nothing()))
		}
		document["Statement"] = statements
	}
	for _, sample := range []string{sampleSink, sampleSecret} {
		if text, err := json.Marshal(resources); err != nil ||
			strings.Contains(string(text), `"Resource":"`+sample) {
			return fmt.Errorf("a policy still has %s: %w", sample, err)
		}
	}
	return nil
}

func split(parameter string) object { return object{"Fn::Split": []any{",", ref(parameter)}} }

// toSinks allows process what every kind of sink asks for, on the ARNs of the parameter: an action
// on a resource of another service does not.
func toSinks() []any {
	// What signs requests may be a secret, which the kind says, or a parameter.
	actions := []string{"kms:Decrypt", "kms:GenerateDataKey", "ssm:GetParameter"}
	events := object{
		"Effect": "Allow", "Resource": split("Sinks"),
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
	allowed := object{"Effect": "Allow", "Action": actions, "Resource": split("Sinks")}
	return []any{when("SinksHaveArns", allowed, nothing()), when("SinksHaveArns", events, nothing())}
}

// stages has one route take all senders' webhooks, and its bound be there only with it.
func (r *releasing) stages(resources object) {
	settings := object{}
	stage := resources["ApiStage"].(object)["Properties"].(object)
	for route, bound := range stage["RouteSettings"].(object) {
		settings[strings.ReplaceAll(route, sampleRoute, "/webhooks/{name}")] = bound
	}
	stage["RouteSettings"] = when("HasWebhooks", settings, nothing())
	// The settings name routes, which have to be there first. A DependsOn cannot name what is not
	// always there.
	needs := object{}
	for _, id := range resources["ApiStage"].(object)["DependsOn"].([]any) {
		needs[fmt.Sprint(id)] = ref(fmt.Sprint(id))
	}
	stage["StageVariables"] = when("HasWebhooks", needs, nothing())
	delete(resources["ApiStage"].(object), "DependsOn")
}

// anew is an object or a list of what is made of its members; another value is as it is.
func anew(value any, do func(key string, inner any) any) any {
	switch value := value.(type) {
	case object:
		made := object{}
		for key, inner := range value {
			made[key] = do(key, inner)
		}
		return made
	case []any:
		made := slices.Clone(value)
		for i, inner := range value {
			made[i] = do("", inner)
		}
		return made
	}
	return value
}

// fill puts the parameters where their samples stand, and the name of the stack that is deployed
// where there is that of the synthesis.
func fill(_ string, value any) any {
	switch value := value.(type) {
	case float64:
		for _, p := range parameters() {
			if sample, number := p.sample.(int); number && float64(sample) == value {
				return ref(p.Name)
			}
		}
	case string:
		return fillText(value)
	}
	return anew(value, fill)
}

func fillText(text string) any {
	for _, p := range parameters() {
		if p.sample == text && p.Name == "PageTopic" {
			return when("HasPageTopic", ref("PageTopic"), ref("AnnounceTopic"))
		} else if p.sample == text {
			return ref(p.Name)
		}
	}
	for i := range sources {
		if text == path.Base(strings.ReplaceAll(sampleQueue(i), ":", "/")) {
			return object{"Fn::Select": []any{5,
				object{"Fn::Split": []any{":", ref(fmt.Sprintf("Source%d", i+1))}}}}
		}
	}
	if text == stackName {
		return ref("AWS::StackName")
	}
	filled := strings.ReplaceAll(text, sampleRoute, "/webhooks/{name}")
	made := strings.NewReplacer(stackName, "${AWS::StackName}", "11m51s", "${LagAfterSeconds}s", "${",
		"${!").Replace(filled)
	if made != strings.ReplaceAll(filled, "${", "${!") {
		return object{"Fn::Sub": made}
	}
	return filled
}

func (r *releasing) encode() ([]byte, error) {
	declared, labels := object{}, object{}
	var groups []any
	members := map[string][]string{}
	for _, p := range parameters() {
		declared[p.Name], labels[p.Name] = p.declaration(), object{"default": p.Name}
		if members[p.Group] == nil {
			groups = append(groups, p.Group)
		}
		members[p.Group] = append(members[p.Group], p.Name)
	}
	for i, group := range groups {
		groups[i] = object{"Label": object{"default": group}, "Parameters": members[group.(string)]}
	}
	maps.Copy(r.object, object{
		"AWSTemplateFormatVersion": "2010-09-09",
		"Description": "Streamsort " + r.version +
			": messages in any order in, in-order batches out",
		"Metadata":   object{"AWS::CloudFormation::Interface": object{"ParameterGroups": groups}},
		"Parameters": declared, "Conditions": conditions(), "Rules": rules(),
	})
	text, err := encoded(r.object)
	return text, errors.Join(err, refersTo(string(text), declared), noSample(string(text)))
}

// refersTo reports parameters that nothing refers to: they would be settings without an effect.
func refersTo(text string, declared object) error {
	var errs []error
	for name := range declared {
		if !strings.Contains(text, `"Ref": "`+name+`"`) && !strings.Contains(text, "${"+name+"}") {
			errs = append(errs, fmt.Errorf("parameter %s has no effect", name))
		}
	}
	return errors.Join(errs...)
}

func noSample(text string) error {
	for _, sample := range []string{"sample", "5a3b1e00", sampleRoute, stackName, "11m51s"} {
		if at := strings.Index(text, sample); at >= 0 {
			return fmt.Errorf("the template still has %s: …%s…", sample,
				text[max(at-200, 0):min(at+100, len(text))])
		}
	}
	return nil
}

// rules are what no parameter says by itself.
func rules() object {
	rule := func(says string, when, must object) object {
		return object{"RuleCondition": when,
			"Assertions": []any{object{"Assert": must, "AssertDescription": says}}}
	}
	all := object{
		"SinksHaveConsumers": rule("Sinks are given, and no consumers; give Consumers, or Config with a consumers.json", given("Sinks"), object{"Fn::Or": []any{given("Consumers"), given("Config")}}),
		"WebhooksHaveConfig": rule(
			"WebhookSecrets are given, and no Config; give it, with a webhooks.json",
			given("WebhookSecrets"), given("Config")),
		"QuotasHaveConfig": rule("Quotas is true, and there is no Config; give it, with a quotas.json",
			is("Quotas", "true"), given("Config")),
		"QuotasHaveTenants": rule(
			"Quotas is true, and there are no tenants; give TenantIssuer, TenantAudience and TenantClaim",
			is("Quotas", "true"), given("TenantIssuer")),
		"TenantsAreWhole": rule("TenantIssuer is given, and TenantAudience or TenantClaim is not; give all three", given("TenantIssuer"),
			object{"Fn::And": []any{given("TenantAudience"), given("TenantClaim")}}),
		"TenantsHaveNoUrl": rule(
			"FunctionUrl is true, and there are tenants; a function URL has no tokens",
			given("TenantIssuer"), is("FunctionUrl", "false")),
	}
	for name, other := range map[string]string{"Subnets": "SecurityGroups",
		"SecurityGroups": "Subnets"} {
		says := name + " are given, and no " + other + "; give both"
		all[name+"HaveBoth"] = rule(says, given(name), given(other))
	}
	for i := range sources {
		name := fmt.Sprintf("Source%d", i+1)
		all[name+"HasConfig"] = rule(
			fmt.Sprintf("%s is given, and no Config; give it, with a source%d.json", name, i+1), given(name),
			given("Config"))
	}
	return all
}
