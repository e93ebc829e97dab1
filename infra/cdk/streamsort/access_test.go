package streamsort

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// allowed are the actions that a function's role allows, by resource. Its one policy must be all
// that the role has, and the role the function's alone.
func allowed(t *testing.T, tmpl template, function string) map[string]any {
	t.Helper()
	role := tmpl.properties(t, function+"Role", "AWS::IAM::Role")
	diff(t, function+"Role", object{"AssumeRolePolicyDocument": object{
		"Version": "2012-10-17",
		"Statement": []any{object{
			"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": object{"Service": "lambda.amazonaws.com"},
		}},
	}}, role)
	policy := tmpl.properties(t, function+"Policy", "AWS::IAM::Policy")
	diff(t, function+"Policy", []any{ref(function + "Role")}, policy["Roles"])

	actions := map[string][]string{}
	for _, value := range policy["PolicyDocument"].(object)["Statement"].([]any) {
		statement := value.(object)
		if statement["Effect"] != "Allow" || statement["NotAction"] != nil || statement["NotResource"] != nil {
			t.Errorf("%sPolicy: %v", function, statement)
		}
		for _, resource := range many(statement["Resource"]) {
			for _, action := range many(statement["Action"]) {
				if !slices.Contains(actions[name(resource)], action.(string)) { // under two conditions
					actions[name(resource)] = append(actions[name(resource)], action.(string))
				}
			}
		}
	}
	lines := map[string]any{}
	for resource, list := range actions {
		slices.Sort(list)
		lines[resource] = strings.Join(list, " ")
	}
	return lines
}

// conditions are those under which a function's role allows actions of a service, by resource.
func conditions(t *testing.T, tmpl template, function, service string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, value := range tmpl.properties(t, function+"Policy", "AWS::IAM::Policy")["PolicyDocument"].(object)["Statement"].([]any) {
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
// prefix of are texts, whatever is in them. Without a numbered source it reads no message.
func TestWebhookReachesItsQueuesAlone(t *testing.T) {
	source := func(name, queue string, prefix *string) Webhook {
		return Webhook{Name: name, Preset: "github", Secret: new("arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/" + name), Queue: queue, Prefix: prefix}
	}
	tmpl := synthesize("Streamsort", &Props{Webhooks: []Webhook{
		source("github", "repository.full_name", nil),
		source("shop", "'${all} of *?'", nil),
		source("acme", "q", new("@acme/")),
	}})
	like := []any{object{"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": []any{"github/*", "${$}{all} of ${*}${?}", "@acme/*"}}}}
	diff(t, "confined", map[string][]any{"MessagesTable.Arn": like, "ArrivalsTable.Arn": like, "CursorsTable.Arn": like}, conditions(t, tmpl, "Webhook", "dynamodb"))
	diff(t, "messages in arrival order", "dynamodb:PutItem dynamodb:Query", allowed(t, tmpl, "Webhook")["MessagesTable.Arn"])

	// Where a preset says the queue and the challenge, they count as if they were written.
	meta := source("meta", "", nil)
	meta.Preset, meta.VerifyToken = "meta", meta.Secret
	preset := synthesize("Preset", &Props{Webhooks: []Webhook{source("github", "", nil), meta, {Name: "mail", Preset: "sendgrid", Secret: meta.Secret}}})
	diff(t, "of presets", []any{object{"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": []any{"github/*", "meta/*", "mail"}}}}, conditions(t, preset, "Webhook", "dynamodb")["CursorsTable.Arn"])
	diff(t, "the challenge's route", "GET /webhooks/meta", preset.properties(t, "GetWebhooksmetaRoute", "AWS::ApiGatewayV2::Route")["RouteKey"])

	// Under changedProps, one source may name any queue but tenants'.
	both := []any{
		object{"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": []any{"github/*"}}},
		object{"ForAllValues:StringNotLike": object{"dynamodb:LeadingKeys": []any{"@*"}}},
	}
	diff(t, "any queue", map[string][]any{"MessagesTable.Arn": both, "ArrivalsTable.Arn": both, "CursorsTable.Arn": both, "TroubleTable.Arn": {object{"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": []any{"quota *"}}}}}, conditions(t, changed(), "Webhook", "dynamodb"))
}

// Endpoints, and their secrets, are in the consumers table: ack, and who consumes on the tables,
// reach none of them, by no action; process reads them, and changes none.
func TestEndpointsAreWalledOff(t *testing.T) {
	const table = "ConsumersTable.Arn"
	none := object{"ForAllValues:StringNotLike": object{"dynamodb:LeadingKeys": []any{"endpoints *"}}}
	alone := object{"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": []any{"endpoints *"}}}
	diff(t, "ack", []any{none}, conditions(t, defaults(), "Ack", "dynamodb")[table])
	diff(t, "process", []any{none, alone}, conditions(t, changed(), "Process", "dynamodb")[table])
	for _, value := range changed().properties(t, "ProcessPolicy", "AWS::IAM::Policy")["PolicyDocument"].(object)["Statement"].([]any) {
		if statement := value.(object); asText(t, statement["Condition"]) == asText(t, alone) {
			diff(t, "process with endpoints", "dynamodb:GetItem", statement["Action"])
		}
	}
	stack, s, _, read := own(t)
	s.GrantConsume(awsiam.NewUser(stack, jsii.String("Puller"), nil))
	policy := read().find(t, "AWS::IAM::Policy", "PullerDefaultPolicy")
	seen := 0
	for _, value := range policy["PolicyDocument"].(object)["Statement"].([]any) {
		statement := value.(object)
		if !strings.Contains(asText(t, statement["Resource"]), "ConsumersTable") {
			continue
		}
		seen++
		diff(t, "the grant", none, statement["Condition"])
		diff(t, "the grant", []any{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}, statement["Action"])
	}
	if seen != 1 {
		t.Errorf("%d statements are about the table", seen)
	}
}

// The trouble table has counters of tenants and the sweep's place beside its rows: each function
// reaches those that it works on, by no action the others.
func TestWhatIsBesideTroubleIsWalledOff(t *testing.T) {
	of := map[string]string{
		`{"ForAllValues:StringNotLike":{"dynamodb:LeadingKeys":["quota *"," sweep"]}}`: "rows",
		`{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["quota *"]}}`:             "quotas",
		`{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":[" counts"]}}`:             "counts",
		`{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":[" sweep"]}}`:              "sweep",
	}
	for function, want := range map[string]string{
		"Enqueue": "counts quotas rows", "Webhook": "quotas", "Sort": "", "Process": "counts rows",
		"Delivery": "quotas rows", "Ack": "quotas rows", "Sweep": "rows sweep",
	} {
		var got []string
		statements, _ := conditions(t, changed(), function, "dynamodb")["TroubleTable.Arn"].([]any)
		for _, condition := range statements {
			got = append(got, cmp.Or(of[asText(t, condition)], "everything"))
		}
		slices.Sort(got)
		diff(t, function, want, strings.Join(slices.Compact(got), " "))
	}
	quotas := conditions(t, defaults(), "Enqueue", "dynamodb")["TroubleTable.Arn"]
	if n := len(quotas.([]any)); n != 2 {
		t.Errorf("%d statements without quotas, want 2", n)
	}
}

// What puts events puts none of another source.
func TestEventsAreOfOurSource(t *testing.T) {
	const bus = "arn:aws:events:eu-west-1:123456789012:event-bus/shop"
	tmpl := synthesize("Streamsort", &Props{Consumers: []Consumer{{Name: "shop", Sink: &Sink{Kind: "eventbridge", ARN: new(bus)}}}})
	own := []any{object{"ForAllValues:StringEquals": object{"events:source": "streamsort"}}}
	for function, on := range map[string]string{
		"Sweep": "arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default",
		"Ack":   "arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default", "Process": bus,
	} {
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

// No statement has a wildcard but X-Ray's, where calls are traced, and that has its note.
func TestWildcards(t *testing.T) {
	for traced, tmpl := range map[int]template{0: defaults(), 1: withURL()} {
		checkWildcards(t, tmpl, traced)
	}
}

func checkWildcards(t *testing.T, tmpl template, want int) {
	t.Helper()
	for id, resource := range tmpl.Resources {
		if resource["Type"] != "AWS::IAM::Policy" {
			continue
		}
		text, err := json.Marshal(resource["Properties"])
		if err != nil {
			t.Fatal(err)
		}
		// A condition's pattern is not among what is allowed.
		patterns := strings.NewReplacer(`"endpoints *"`, "", `"quota *"`, "")
		if n := strings.Count(patterns.Replace(string(text)), "*"); n != want {
			t.Errorf("%s has %d wildcards, want %d: X-Ray's alone", id, n, want)
		}
		if note, _ := json.Marshal(resource["Metadata"]); want > 0 && !strings.Contains(string(note), "X-Ray's take no resource") {
			t.Errorf("%s: no reason for X-Ray's wildcard in %s", id, note)
		}
	}
}
