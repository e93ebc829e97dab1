package streamsort

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
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
	got := ownQueues(reach...)
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

func sourcesStack(t *testing.T, props *Props) (awscdk.App, *Stack) {
	t.Helper()
	props.Binaries = binaries[ARM64]
	app := awscdk.NewApp(&awscdk.AppProps{StackTraces: jsii.Bool(false)})
	stack := check.Get(NewStack(app, "Streamsort", props))
	scope := stack.Stack
	for id, from := range map[string]Source{
		"Payments": {
			From: awssqs.NewQueue(scope, jsii.String("Payments"), nil), Name: "payments", MaxConcurrency: 5,
			Queue: "account", Seq: "n",
			Filters: []string{`{"body":{"account":[{"exists":true}]}}`},
		},
		"Ledger": {From: awssqs.NewQueue(scope, jsii.String("Ledger"), &awssqs.QueueProps{Fifo: jsii.Bool(true)}), Arrival: true},
		"Inbox":  {From: awssqs.NewQueue(scope, jsii.String("Notified"), nil), Kind: "s3", Queue: "'@acme/inbox*'"},
		"Changes": {From: awssns.NewTopic(scope, jsii.String("Topic"), nil),
			Attributes: map[string]string{"subject": "@subject"}}, "Orders": {
			From:    awsevents.NewEventBus(scope, jsii.String("Bus"), nil),
			Pattern: &awsevents.EventPattern{Source: jsii.Strings("com.example.orders")},
			Queue:   "order.id | 'rest'", Prefix: jsii.String(""),
			Key: "@time,version", KeyType: "time,number", Prev: "before",
		},
		"Objects": {From: awsevents.NewRule(scope, jsii.String("Rule"), &awsevents.RuleProps{EventPattern: &awsevents.EventPattern{Source: jsii.Strings("aws.s3")}}), Kind: "s3"},
		"Clicks":  {From: awskinesis.NewStream(scope, jsii.String("Clicks"), nil), BatchSize: 500, BatchWindow: 2e9, Parallelization: 4},
		"Files":   {From: awss3.NewBucket(scope, jsii.String("Files"), nil), Removed: true},
		"Accounts": {From: awsdynamodb.NewTableV2(scope, jsii.String("Accounts"),
			&awsdynamodb.TablePropsV2{
				PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("id"),
					Type: awsdynamodb.AttributeType_STRING},
				DynamoStream: awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES,
			})},
		"Trades": {From: Kafka{
			ClusterARN: jsii.String("arn:aws:kafka:eu-west-1:123456789012:cluster/trades/e9f754c6"),
			Topic:      "trades", ConsumerGroup: "streamsort", Pollers: 1,
			Access: []KafkaAccess{{"SASL_SCRAM_512_AUTH",
				"arn:aws:secretsmanager:eu-west-1:123456789012:secret:AmazonMSK_trades-Ab12Cd"}},
		}},
		"Logs": {From: Kafka{BootstrapServers: []string{"b-1.example.com:9096"}, Topic: "logs", Access: []KafkaAccess{{"VPC_SUBNET", "subnet:subnet-0a1b"}}}},
	} {
		check.OK(t, stack.AddSource(id, from))
	}
	return app, stack
}

// What each source adds to a stack: all of it, but for the user's own resources, whose properties
// are in testdata/sources.txt. Write it anew with -update, and look at the difference. Its failure
// queue, and announcements, are within the stack's key; each alarm has a section in the runbook.
func TestSources(t *testing.T) {
	_, stack := sourcesStack(t, &Props{EncryptionKey: NewKey,
		AnnounceTopic: jsii.String("arn:aws:sns:eu-west-1:123456789012:people"), Shift: "AllAtOnce"})
	plain, made := defaults(), written(stack.Stack)
	for id, resource := range made.Resources {
		if strings.HasPrefix(id, sourceID) && resource["Type"] == "AWS::CloudWatch::Alarm" {
			checkSection(t, id, resource["Properties"].(object))
		}
	}
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(made.Resources)) {
		resource := made.Resources[id]
		// The rights of a role are in its policy, a version is as its function.
		if plain.Resources[id] != nil || slices.Contains([]string{
			"AWS::IAM::Role", "AWS::Lambda::Version", "AWS::Logs::LogGroup", "AWS::SQS::QueuePolicy", "AWS::Logs::QueryDefinition", "AWS::Lambda::Alias",
		}, resource["Type"].(string)) ||
			!strings.Contains(id, sourceID) && resource["Type"] != "AWS::SNS::Subscription" &&
				resource["Type"] != "Custom::S3BucketNotifications" && resource["Type"] != "AWS::Events::Rule" {
			continue
		}
		properties, _ := resource["Properties"].(object)
		if properties == nil {
			properties = object{}
		}
		delete(properties, "Code")
		if variables, is := properties["Environment"].(object); is {
			all := variables["Variables"].(object)
			properties["Environment"] = object{"STREAMSORT_SOURCE": all["STREAMSORT_SOURCE"],
				"STREAMSORT_FAILURE_QUEUE": all["STREAMSORT_FAILURE_QUEUE"]}
		}
		text.WriteString(id + " " + resource["Type"].(string) + "\n  " + asText(t, properties) + "\n")
	}
	pinned(t, "testdata/sources.txt", text.String())
}

// Each error says what to write instead, and nothing has been made then.
func TestAddSourceRefuses(t *testing.T) {
	stack, s, function := own(t, Props{})
	queue := awssqs.NewQueue(stack, jsii.String("Queue"), nil)
	fifo := awssqs.NewQueue(stack, jsii.String("Fifo"), &awssqs.QueueProps{Fifo: jsii.Bool(true)})
	bus := awsevents.NewEventBus(stack, jsii.String("Bus"), nil)
	table := awsdynamodb.NewTable(stack, jsii.String("Table"),
		&awsdynamodb.TableProps{PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("id"),
			Type: awsdynamodb.AttributeType_STRING}})
	for want, from := range map[string]Source{
		"a <nil> is no source; write in From a queue":            {},
		"Function is no source; write in From a queue, a topic":  {From: function},
		`kind "kinesis" does not come by this source`:            {From: queue, Kind: "kinesis"},
		`kind "mq" is not known; write one of sqs, sqsFifo`:      {From: queue, Kind: "mq"},
		"name must be 1 to 64":                                   {From: queue, Name: "a/b"},
		"keyType must not be given without a key":                {From: queue, KeyType: "time"},
		"queue has @sequencer, which is not known":               {From: queue, Queue: "@sequencer"},
		"queue has 2 paths":                                      {From: queue, Queue: "@body,a"},
		"a FIFO queue has 10 messages a call at most":            {From: fifo, BatchSize: 11},
		"need a batchWindow of 1s":                               {From: queue, BatchSize: 11},
		"a FIFO topic calls no function":                         {From: awssns.NewTopic(stack, jsii.String("F"), &awssns.TopicProps{Fifo: jsii.Bool(true)})},
		"a bus needs a Pattern":                                  {From: bus},
		"the table has no stream":                                {From: table},
		"clusterARN and bootstrapServers, or neither":            {From: Kafka{Topic: "t"}},
		"has no topic":                                           {From: Kafka{BootstrapServers: []string{"b"}}},
		"pollers is 201":                                         {From: Kafka{BootstrapServers: []string{"b"}, Topic: "t", Pollers: 201}},
		"which is no secret of Secrets Manager":                  {From: Kafka{BootstrapServers: []string{"b"}, Topic: "t", Access: []KafkaAccess{{"BASIC_AUTH", "x"}}}},
		"retries is -1":                                          {From: queue, Retries: -1},
		"maxRecordAge is 1s; write a value from 1m to 168h":      {From: queue, MaxRecordAge: 1e9},
		"maxConcurrency is 1":                                    {From: queue, MaxConcurrency: 1},
		"filters are 6":                                          {From: queue, Filters: make([]string, 6)},
		"only a bus has a Pattern":                               {From: queue, Pattern: &awsevents.EventPattern{}},
		"only a bucket has Removed":                              {From: queue, Removed: true},
		"only a queue, a stream, a table and Kafka have Filters": {From: bus, Pattern: &awsevents.EventPattern{}, Filters: []string{"{}"}},
	} {
		check.Says(t, s.AddSource("New", from), want)
	}
	for id := range written(stack).Resources {
		check.That(t, !strings.Contains(id, "SourceNew"), "%s was made", id)
	}
}
