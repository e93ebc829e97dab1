package streamsort

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/dev/check"
	paths "github.com/streamsort/streamsort/internal/mapping"
)

// conditions are those under which a function's role allows actions of a service, by resource.
func conditions(t *testing.T, tmpl template, function, service string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, value := range tmpl.properties(t, function+"Policy",
		"AWS::IAM::Policy")["PolicyDocument"].(object)["Statement"].([]any) {
		statement := value.(object)
		if strings.HasPrefix(many(statement["Action"])[0].(string), service+":") {
			on := name(statement["Resource"])
			list, _ := all[on].([]any)
			all[on] = append(list, statement["Condition"])
		}
	}
	return all
}

// webhook reaches the queues of its sources, and no other: names that a source gives whole or a
// prefix of are texts, whatever is in them.
func TestWebhookReachesItsQueuesAlone(t *testing.T) {
	secret := new("arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/it")
	_, _, sources, err := webhooksFile([]Webhook{
		{Name: "github", Preset: "github", Secret: secret, Queue: "repository.full_name"},
		{Name: "shop", Preset: "github", Secret: secret, Queue: "'${all} of *?'"},
		{Name: "acme", Preset: "github", Secret: secret, Queue: "q", Prefix: new("@acme/")},
		// Where a preset says the queue, it counts as if it was written.
		{Name: "meta", Preset: "meta", Secret: secret, VerifyToken: secret},
		{Name: "mail", Preset: "sendgrid", Secret: secret},
		{Name: "any", Preset: "github", Secret: secret, Queue: "q", Prefix: new("")},
	})
	check.OK(t, err)
	var reach []*paths.Mapping
	for _, w := range sources {
		reach = append(reach, w.Mapping)
	}
	want := map[string][]string{
		"ForAllValues:StringLike":    {"github/*", "${$}{all} of ${*}${?}", "@acme/*", "meta/*", "mail"},
		"ForAllValues:StringNotLike": {"@*"}, // any queue but tenants'
	}
	got := maps.Collect(ownQueues(reach...))
	check.That(t, reflect.DeepEqual(want, got), "%v, want %v", got, want)
}

// Endpoints, and their secrets, are in the consumers table: ack, and who consumes on the tables,
// reach none of them, by no action; process reads them, and changes none.
func TestEndpointsAreWalledOff(t *testing.T) {
	const table = "ConsumersTable.Arn"
	none := object{"ForAllValues:StringNotLike": object{"dynamodb:LeadingKeys": []any{"endpoints *"}}}
	alone := object{"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": []any{"endpoints *"}}}
	diff(t, "ack", []any{none}, conditions(t, defaults(), "Ack", "dynamodb")[table])
	diff(t, "process", []any{none, alone}, conditions(t, changed(), "Process", "dynamodb")[table])
	for _, value := range changed().properties(t, "ProcessPolicy",
		"AWS::IAM::Policy")["PolicyDocument"].(object)["Statement"].([]any) {
		if statement := value.(object); asText(t, statement["Condition"]) == asText(t, alone) {
			diff(t, "process with endpoints", "dynamodb:GetItem", statement["Action"])
		}
	}
	stack, seen := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Shop"), nil), 0
	made := check.Get(New(stack, "Orders", &Props{Binaries: binaries[ARM64]}))
	made.GrantConsume(awsiam.NewUser(stack, jsii.String("Puller"), nil))
	for id, resource := range written(stack).Resources {
		if !strings.HasPrefix(id, "PullerDefaultPolicy") {
			continue
		}
		document := resource["Properties"].(object)["PolicyDocument"].(object)
		for _, value := range document["Statement"].([]any) {
			if statement := value.(object); strings.Contains(asText(t, statement["Resource"]),
				"ConsumersTable") {
				seen++
				diff(t, "the grant", none, statement["Condition"])
			}
		}
	}
	check.That(t, seen == 1, "%d statements of the grant are about the table", seen)
}

// What puts events puts none of another source.
func TestEventsAreOfOurSource(t *testing.T) {
	const bus = "arn:aws:events:eu-west-1:123456789012:event-bus/shop"
	const byDefault = "arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default"
	tmpl := synthesize("Streamsort",
		&Props{Consumers: []Consumer{{Name: "shop", Sink: &Sink{Kind: "eventbridge", ARN: new(bus)}}}})
	own := []any{object{"ForAllValues:StringEquals": object{"events:source": "streamsort"}}}
	for function, on := range map[string]string{"Sweep": byDefault, "Ack": byDefault, "Process": bus} {
		diff(t, function, map[string][]any{on: own}, conditions(t, tmpl, function, "events"))
	}
}

func many(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

// name is a resource of a statement, written shortly.
func name(resource any) string {
	function, ok := resource.(object)
	if !ok {
		return resource.(string)
	}
	var out strings.Builder
	switch {
	case function["Ref"] != nil:
		return function["Ref"].(string)
	case function["Fn::ImportValue"] != nil:
		return function["Fn::ImportValue"].(string)
	case function["Fn::GetAtt"] != nil:
		list := function["Fn::GetAtt"].([]any)
		return list[0].(string) + "." + list[1].(string)
	default:
		for _, part := range function["Fn::Join"].([]any)[1].([]any) {
			out.WriteString(name(part))
		}
	}
	return out.String()
}

// What operates is not there without a scope of its own.
func TestTenantsDoNotOperate(t *testing.T) {
	tmpl := synthesize("Orders", &Props{TenantIssuer: "https://tokens.example", TenantAudience: "shop",
		TenantClaim: "tenant"})
	routes := map[string]bool{}
	for _, resource := range tmpl.Resources {
		if resource["Type"] != "AWS::ApiGatewayV2::Route" {
			continue
		}
		p := resource["Properties"].(object)
		if strings.Contains(asText(t, p["ApiId"]), "TenantApi") {
			routes[p["RouteKey"].(string)] = true
		}
	}
	for _, key := range []string{"PUT /queues", "GET /operations", "POST /operations",
		"GET /endpoints", "PUT /endpoints", "DELETE /endpoints"} {
		check.That(t, !routes[key], "tenants have %s", key)
	}
	check.That(t, len(routes) == 12, "tenants have %d routes: %v", len(routes), routes)
	n := len(tmpl.Resources)
	check.That(t, n <= 250, "the template has %d resources, more than 250", n)
}

const theKey = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

// Every table, every log group and every queue is encrypted with the key, and each role may use it.
func TestKeyEncrypts(t *testing.T) {
	const key = `":{"Fn::GetAtt":["Key","Arn"]}`
	counts := map[string]int{}
	for id, resource := range other().Resources {
		typ, text := resource["Type"].(string), asText(t, resource)
		want := map[string]string{
			"AWS::DynamoDB::GlobalTable": `"KMSMasterKeyId` + key, "AWS::SQS::Queue": `"KmsMasterKeyId` + key,
			"AWS::Logs::LogGroup": `"KmsKeyId` + key, "AWS::IAM::Policy": `{"kms:ViaService":[`,
		}[typ]
		check.That(t, strings.Contains(text, want), "%s has no %s: %s", id, want, text)
		counts[typ]++
	}
	check.That(t, counts["AWS::DynamoDB::GlobalTable"] >= 8 && counts["AWS::SQS::Queue"] == 2 &&
		counts["AWS::Logs::LogGroup"] >= 6, "looked at %v", counts)
}
