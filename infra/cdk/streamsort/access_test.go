package streamsort

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// Each role allows exactly what its function does: actions by resource.
func TestAccess(t *testing.T) {
	common := func(function string) map[string]string {
		return map[string]string{
			function + "Logs.Arn": "logs:CreateLogStream logs:PutLogEvents",
			"MessagesTable.Arn":   "dynamodb:GetItem dynamodb:PutItem dynamodb:Query",
			"CursorsTable.Arn":    "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem",
		}
	}
	// Under changedProps, there is a key.
	useKey := "kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey kms:GenerateDataKeyWithoutPlaintext kms:ReEncryptFrom kms:ReEncryptTo"
	enqueues := common("Enqueue")
	enqueues["CursorsTable.Arn"] = "dynamodb:GetItem dynamodb:PutItem dynamodb:Scan dynamodb:UpdateItem"
	enqueues["TroubleTable.Arn"] = "dynamodb:Query dynamodb:UpdateItem"
	enqueues["ArrivalsTable.Arn"] = "dynamodb:BatchGetItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem"
	sorts := common("Sort")
	sorts["MessagesTable.Arn"] = "dynamodb:BatchWriteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query"
	sorts["ArrivalsTable.Arn"] = "dynamodb:Query dynamodb:UpdateItem"
	sorts["MessagesTable.StreamArn"] = "dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator dynamodb:ListStreams"
	sorts["ArrivalsTable.StreamArn"] = sorts["MessagesTable.StreamArn"]
	sorts["FailureQueue.Arn"] = "sqs:SendMessage"
	sweeps := common("Sweep")
	sweeps["ArrivalsTable.Arn"] = "dynamodb:BatchGetItem dynamodb:BatchWriteItem dynamodb:Query dynamodb:UpdateItem"
	sweeps["MessagesTable.Arn"] = "dynamodb:BatchWriteItem " + sweeps["MessagesTable.Arn"] + " dynamodb:UpdateItem"
	sweeps["CursorsTable.Arn"] = "dynamodb:GetItem dynamodb:Scan dynamodb:UpdateItem"
	sweeps["SweepsTable.Arn"] = "dynamodb:GetItem dynamodb:PutItem"
	sweeps["ConsumersTable.Arn"] = "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem"
	sweeps["AuditTable.Arn"] = "dynamodb:PutItem"
	sweeps["TroubleTable.Arn"] = "dynamodb:BatchWriteItem dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query"
	sweeps["ChainsTable.Arn"] = "dynamodb:GetItem dynamodb:UpdateItem"
	sweeps["TroubleTable.Arn/index/age"] = "dynamodb:Query"
	sweeps["ChainsTable.Arn/index/due"] = "dynamodb:Query"

	deletes := maps.Clone(sweeps)
	deletes["arn:aws:lambda:eu-west-1:123456789012:function:people"] = "lambda:InvokeFunction"
	deletes["ArchiveBucket.Arn"], deletes["ArchiveBucket.Arn/archive/*"] = "s3:ListBucket", "s3:DeleteObject"
	deletes["arn:aws:sns:eu-west-1:123456789012:people"] = "sns:Publish"
	deletes[theKey] = useKey
	deletes["TimerQueue.Arn"] = "sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage sqs:SendMessage"
	attach := "ec2:AssignPrivateIpAddresses ec2:CreateNetworkInterface ec2:DeleteNetworkInterface ec2:DescribeNetworkInterfaces ec2:DescribeSubnets ec2:UnassignPrivateIpAddresses"
	deletes["*"] = attach
	diff(t, "a sweep that deletes, with a topic and without a bus", deletes, allowed(t, changed(), "Sweep"))

	acks := common("Ack")
	delete(acks, "MessagesTable.Arn")
	acks["CursorsTable.Arn"] = "dynamodb:GetItem dynamodb:UpdateItem"
	acks["ConsumersTable.Arn"] = "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem"
	acks["TroubleTable.Arn"] = "dynamodb:DeleteItem dynamodb:PutItem dynamodb:Query"
	acks["ChainsTable.Arn/index/due"] = "dynamodb:Query"
	acks["ChainsTable.Arn"] = "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem"
	acks["ChainsTable.StreamArn"] = "dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator dynamodb:ListStreams"
	acks["FailureQueue.Arn"] = "sqs:SendMessage"
	acks["arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default"] = "events:PutEvents"
	acks["TimerQueue.Arn"] = "sqs:SendMessage"
	diff(t, "ack", acks, allowed(t, defaults(), "Ack"))

	operates := common("Delivery")
	operates["ArrivalsTable.Arn"] = "dynamodb:BatchGetItem dynamodb:BatchWriteItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem"
	operates["MessagesTable.Arn"] = "dynamodb:BatchWriteItem " + operates["MessagesTable.Arn"] + " dynamodb:UpdateItem"
	operates["CursorsTable.Arn"] = "dynamodb:GetItem dynamodb:PutItem dynamodb:Scan dynamodb:UpdateItem"
	operates["ConsumersTable.Arn"] = "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem"
	operates["AuditTable.Arn"] = "dynamodb:PutItem dynamodb:Query"
	operates["TroubleTable.Arn"] = "dynamodb:BatchWriteItem dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query"
	operates["TimerQueue.Arn"] = "sqs:SendMessage"
	diff(t, "delivery", operates, allowed(t, defaults(), "Delivery"))

	delivers := common("Process")
	delivers["ArrivalsTable.Arn"] = enqueues["ArrivalsTable.Arn"]
	delivers["MessagesTable.Arn"] += " dynamodb:UpdateItem"
	delivers["AuditTable.Arn"] = "dynamodb:PutItem"
	delivers["TroubleTable.Arn"] = "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem"
	delivers["ConsumersTable.Arn"] = "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem"
	delivers["CursorsTable.StreamArn"] = "dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator dynamodb:ListStreams"
	delivers["FailureQueue.Arn"] = "sqs:SendMessage"
	delivers["arn:aws:sqs:eu-west-1:123456789012:billing.fifo"] = "sqs:SendMessage"
	delivers["SearchArn"] = "lambda:InvokeFunction"
	delivers["ArchiveBucket.Arn/archive/*"] = "s3:PutObject"
	delivers["ChainsTable.Arn"] = "dynamodb:GetItem dynamodb:UpdateItem"
	delivers[theKey], delivers["TimerQueue.Arn"], delivers["*"] = useKey, "sqs:SendMessage", attach
	diff(t, "process", delivers, allowed(t, changed(), "Process"))

	receives := common("Webhook")
	receives["MessagesTable.Arn"] = "dynamodb:GetItem dynamodb:PutItem dynamodb:Query" // bank's are numbered
	receives["ArrivalsTable.Arn"] = "dynamodb:BatchGetItem dynamodb:PutItem dynamodb:UpdateItem"
	receives["arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/github"] = "ssm:GetParameter"
	receives["BankSecretArn"] = "secretsmanager:GetSecretValue"
	receives["BankTokenArn"] = "secretsmanager:GetSecretValue"
	receives["arn:aws:kms:eu-west-1:123456789012:key/1234-abcd"] = "kms:Decrypt"
	receives[theKey], receives["TimerQueue.Arn"], receives["*"] = useKey, "sqs:SendMessage", attach
	receives["QuotasTable.Arn"] = "dynamodb:UpdateItem"
	diff(t, "webhook", receives, allowed(t, changed(), "Webhook"))

	sweeps["arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default"] = "events:PutEvents"
	for _, sends := range []map[string]string{enqueues, sorts} {
		sends["TimerQueue.Arn"] = "sqs:SendMessage"
	}
	sweeps["TimerQueue.Arn"] = "sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage sqs:SendMessage"
	diff(t, "enqueue", enqueues, allowed(t, defaults(), "Enqueue"))
	diff(t, "sort", sorts, allowed(t, defaults(), "Sort"))
	diff(t, "sweep", sweeps, allowed(t, defaults(), "Sweep"))
}

// allowed are the actions that a function's role allows, by resource. Its one
// policy must be all that the role has, and the role the function's alone.
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

// conditions are those under which a function's role allows actions of a service, by
// resource.
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

// webhook reaches the queues of its sources, and no other: names that a source
// gives whole or a prefix of are texts, whatever is in them. Without a numbered
// source it reads no message.
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
	diff(t, "any queue", map[string][]any{"MessagesTable.Arn": both, "ArrivalsTable.Arn": both, "CursorsTable.Arn": both, "QuotasTable.Arn": {nil}}, conditions(t, changed(), "Webhook", "dynamodb"))
}

// Endpoints, and their secrets, are in the consumers table: ack, and who consumes on the tables, reach none of them, by no
// action; process reads them, and changes none.
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
		if n := strings.Count(strings.ReplaceAll(string(text), `"endpoints *"`, ""), "*"); n != want {
			t.Errorf("%s has %d wildcards, want %d: X-Ray's alone", id, n, want)
		}
		if note, _ := json.Marshal(resource["Metadata"]); want > 0 && !strings.Contains(string(note), "X-Ray's take no resource") {
			t.Errorf("%s: no reason for X-Ray's wildcard in %s", id, note)
		}
	}
}
