package streamsort

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestMain keeps the CDK from checking each template against CloudFormation's rules,
// which takes longer than to write them all: infra/cdk has that done.
func TestMain(m *testing.M) {
	if err := os.Setenv("CDK_VALIDATION", "false"); err != nil {
		panic(err)
	}
	jsii.Close() // jsii has the environment of when it was initialised; this begins anew
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// object is a JSON object, or a CloudFormation function, of a template.
type object = map[string]any

func ref(id string) object            { return object{"Ref": id} }
func live(id string) object           { return object{"Fn::Join": []any{":", []any{ref(id), "live"}}} }
func get(id, attribute string) object { return object{"Fn::GetAtt": []any{id, attribute}} }

// template is a synthesised template.
type template struct{ Resources, Outputs map[string]object }

// The configurations that the tests look at, each synthesised once.
var (
	defaults = sync.OnceValue(func() template { return synthesize("Streamsort", &Props{}) })
	// encrypted has a key of its own.
	encrypted = sync.OnceValue(func() template { return synthesize("Streamsort", &Props{EncryptionKey: NewKey}) })
	changed   = sync.OnceValue(func() template { return synthesize("Orders", changedProps()) })
)

// changedProps differ from the defaults in every property.
func changedProps() *Props {
	return &Props{
		Tables: "in-", Tombstone: 2 * time.Hour, Removal: Destroy,
		Functions: map[string]FunctionProps{
			"enqueue":  {Memory: 128, Timeout: 10 * time.Second, Concurrency: 11},
			"sort":     {Memory: 256, Timeout: 20 * time.Second, Concurrency: 12, BatchSize: 10, BatchWindow: new(2 * time.Second), Parallelization: 3},
			"sweep":    {Memory: 1024, Concurrency: 1},
			"process":  {Memory: 192, Timeout: 40 * time.Second, Concurrency: 14, BatchSize: 20, BatchWindow: new(time.Second), Parallelization: 2},
			"slow":     {Concurrency: 19},
			"delivery": {Memory: 320, Timeout: 5 * time.Second, Concurrency: 15},
			"ack":      {Memory: 384, Timeout: 6 * time.Second, Concurrency: 16, BatchSize: 30, BatchWindow: new(3 * time.Second), Parallelization: 4},
			"webhook":  {Memory: 448, Timeout: 7 * time.Second, Concurrency: 18},
		},
		FirstSeq: new(int64(0)), Policy: cursor.PolicySkip, GapAfter: 90 * time.Second, MaxAhead: 50, Settle: new(time.Minute), Late: cursor.LateDrop,
		Mode: cursor.ModeAsync, Retention: new(time.Duration(0)),
		Events: `{"queue":"repository.full_name","seq":"sequence","id":"delivery.id"}`,
		Consumers: []Consumer{
			{Name: "billing", Sink: &Sink{Kind: "sqs", ARN: new("arn:aws:sqs:eu-west-1:123456789012:billing.fifo"), MaxEntries: 1}},
			{
				Name: "search", Start: "latest", Prefix: "shop/", MaxMessages: 10, MaxBytes: 1000, MaxAttempts: 3, Track: "20m",
				Circuit: &Circuit{Probes: []string{"10s"}, WakeRate: 200},
				Sink:    &Sink{Kind: "lambda", ARN: awscdk.Fn_ImportValue(jsii.String("SearchArn")), MaxBytes: 2000},
			},
			{Name: "books"},
			{Name: "archive", Sink: &Sink{Kind: "s3"}},
		},
		Webhooks: []Webhook{
			{
				Name: "github", Preset: "github", Challenge: "cloudevents", Secret: new("arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/github"),
				Queue: "repository.full_name | 'other'", Attributes: map[string]string{"event": "@header(X-GitHub-Event)"},
				Key: "updated_at,action", KeyType: "time,rank(opened|*|closed)", Prev: "before.id",
			},
			{
				Name: "bank", Secret: awscdk.Fn_ImportValue(jsii.String("BankSecretArn")), SecretKey: new("arn:aws:kms:eu-west-1:123456789012:key/1234-abcd"),
				Challenge: "hub", VerifyToken: awscdk.Fn_ImportValue(jsii.String("BankTokenArn")), Tolerance: "1m",
				Signature: &WebhookSignature{
					Header: "X-Sig", Prefix: "v0=", Encoding: "base64", KeyEncoding: "hex", IDHeader: "X-Id", TimestampHeader: "X-Time", Template: "{id}.{timestamp}.{body}",
				},
				Queue: "@header(X-Account)", Prefix: new(""), Seq: "number", ID: "event.id", MaxBody: 1000,
			},
		},
		WebhookRate:   30,
		SweepInterval: time.Minute, FullSweepEvery: 6 * time.Hour, SweepSegments: 2,
		EventBus: new(""), AnnounceTopic: new("arn:aws:sns:eu-west-1:123456789012:people"), PageTopic: new("arn:aws:sns:eu-west-1:123456789012:pager"),
		VPC:              VPC{"subnet-1," + *awscdk.Fn_ImportValue(jsii.String("Subnet")), "sg-1"},
		AnnounceFunction: new("arn:aws:lambda:eu-west-1:123456789012:function:people"),
		SettleWithin:     3 * time.Hour,
		LagAfter:         time.Hour, SavedQueries: new(false), DeleteDelivered: true, KnownQueues: true,
		SlowShare:    7,
		TenantIssuer: "https://tokens.example/pool", TenantAudience: "shop,desk", TenantClaim: "custom:tenant",
		TenantProduceScope: "streamsort/produce", TenantOperateScope: "streamsort/operate",
		QuotasFile: "testdata/quotas.json", APIRate: 20, LogRetentionDays: 365, LogSuccesses: new(100), LogQueue: "octo/repo", LogUntil: "2026-01-02T15:04:05Z", Architecture: AMD64,
		Shift: "Canary10Percent5Minutes", EncryptionKey: theKey,
	}
}

// synthesize panics on an error: it runs once, for whichever test is first.
func synthesize(id string, props *Props) template {
	dir, err := os.MkdirTemp("", "streamsort-cdk-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	arch := string(props.Architecture)
	if arch == "" {
		arch = "arm64"
	}
	if err := fakebin.Write(dir, arch); err != nil {
		panic(err)
	}
	props.Binaries = dir
	stack, err := NewStack(awscdk.NewApp(nil), id, props)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(assertions.Template_FromStack(stack.Stack, nil).ToJSON())
	if err != nil {
		panic(err)
	}
	var t template
	if err := json.Unmarshal(text, &t); err != nil {
		panic(err)
	}
	return t
}

// properties are a resource's, after a look at its type.
func (t template) properties(tb testing.TB, id, typ string) object {
	tb.Helper()
	resource := t.Resources[id]
	if resource["Type"] != typ {
		tb.Fatalf("%s is of type %v, want %s", id, resource["Type"], typ)
	}
	properties, _ := resource["Properties"].(object)
	return properties
}

// diff compares JSON values; numbers may be written as Go's integers.
func diff(tb testing.TB, what string, want, got any) {
	tb.Helper()
	text, err := json.Marshal(want)
	if err != nil {
		tb.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(plain, got); d != "" {
		tb.Errorf("%s (- want, + got)\n%s", what, d)
	}
}

// The logical ids are part of what the stack promises: a table whose id
// changed would be replaced.
func TestLogicalIDs(t *testing.T) {
	want := map[string]string{
		"MessagesTable": "AWS::DynamoDB::GlobalTable",
		"CursorsTable":  "AWS::DynamoDB::GlobalTable",
		"SweepsTable":   "AWS::DynamoDB::GlobalTable",

		"DedupTable":     "AWS::DynamoDB::GlobalTable",
		"ChainsTable":    "AWS::DynamoDB::GlobalTable",
		"ArrivalsTable":  "AWS::DynamoDB::GlobalTable",
		"ConsumersTable": "AWS::DynamoDB::GlobalTable", "AuditTable": "AWS::DynamoDB::GlobalTable", "TroubleTable": "AWS::DynamoDB::GlobalTable",

		"FailureQueue": "AWS::SQS::Queue", "FailureQueuePolicy": "AWS::SQS::QueuePolicy",
		"TimerQueue": "AWS::SQS::Queue", "TimerQueuePolicy": "AWS::SQS::QueuePolicy", "TimerMapping": "AWS::Lambda::EventSourceMapping",

		"SortMapping":     "AWS::Lambda::EventSourceMapping",
		"ArrivalsMapping": "AWS::Lambda::EventSourceMapping",
		"EndsMapping":     "AWS::Lambda::EventSourceMapping",
		"SweepSchedule":   "AWS::Events::Rule", "SweepSchedulePermission": "AWS::Lambda::Permission",
		"SweepCalls": "AWS::Lambda::EventInvokeConfig",
		"Dashboard":  "AWS::CloudWatch::Dashboard",

		"Api": "AWS::ApiGatewayV2::Api", "ApiStage": "AWS::ApiGatewayV2::Stage",
		"ApiIntegration": "AWS::ApiGatewayV2::Integration", "ApiDeliveryIntegration": "AWS::ApiGatewayV2::Integration",
		"ApiAckIntegration": "AWS::ApiGatewayV2::Integration", "ApiLogs": "AWS::Logs::LogGroup",
		"ApiThrottled": "AWS::Logs::MetricFilter",
	}
	functions := func(names ...string) {
		for _, function := range names {
			want[function+"Function"] = "AWS::Lambda::Function"
			want[function+"Logs"] = "AWS::Logs::LogGroup"
			want[function+"Role"] = "AWS::IAM::Role"
			want[function+"Policy"] = "AWS::IAM::Policy"
			want[function+"Alias"] = "AWS::Lambda::Alias"
			want[function+"FunctionCurrentVersion"] = "AWS::Lambda::Version"
		}
	}
	functions("Enqueue", "Sort", "Sweep", "Delivery", "Ack")
	want["EnqueuePutAlias"] = "AWS::Lambda::Alias"
	for id := range wantAlarms(false) {
		want[id] = "AWS::CloudWatch::Alarm"
	}
	queries := []string{"FailuresQuery", "QueueQuery", "RefusedQuery", "AnnouncedQuery", "SlowQuery", "ThrottledQuery"}
	for _, id := range queries {
		want[id] = "AWS::Logs::QueryDefinition"
	}
	for _, route := range []string{
		"PostMessages", "GetMessages", "GetQueues", "PutQueues", "DeleteQueues", "GetGaps", "GetSummary", "GetConsumers", "PostConsumers", "GetOperations", "PostOperations",
		"GetEndpoints", "PutEndpoints", "DeleteEndpoints",
		"GetChains", "PostAcks", "GetClaims", "PostClaims", "PatchClaims",
	} {
		want[route+"Route"] = "AWS::ApiGatewayV2::Route"
		want[route+"Permission"] = "AWS::Lambda::Permission"
	}
	for i, tmpl := range []template{defaults(), changed()} {
		if i == 1 {
			functions("Process", "Webhook")
			want["QuotasTable"] = "AWS::DynamoDB::GlobalTable"
			want["ArchiveBucket"], want["ArchiveBucketPolicy"] = "AWS::S3::Bucket", "AWS::S3::BucketPolicy"
			want["Shifts"], want["ShiftRole"] = "AWS::CodeDeploy::Application", "AWS::IAM::Role"
			for _, f := range []string{"Enqueue", "EnqueuePut", "Sort", "Sweep", "Delivery", "Ack", "Process", "Webhook"} {
				want[f+"Shift"] = "AWS::CodeDeploy::DeploymentGroup"
			}
			want["ProcessMapping"], want["DownAlarm"] = "AWS::Lambda::EventSourceMapping", "AWS::CloudWatch::CompositeAlarm"
			for id := range wantAlarms(true) {
				want[id] = "AWS::CloudWatch::Alarm"
			}
			want["TenantAuthorizer"] = "AWS::ApiGatewayV2::Authorizer"
			for id, typ := range maps.Clone(want) {
				isPermission := typ == "AWS::Lambda::Permission" && id != "SweepSchedulePermission"
				if strings.HasPrefix(id, "Api") && typ != "AWS::CloudWatch::Alarm" || strings.HasSuffix(id, "Route") || isPermission {
					want["Tenant"+id] = typ
				}
			}
			// On the first API alone.
			want["ApiWebhookIntegration"] = "AWS::ApiGatewayV2::Integration"
			for _, sender := range []string{"github", "bank"} {
				want["PostWebhooks"+sender+"Route"] = "AWS::ApiGatewayV2::Route"
			}
			want["WebhooksThrottled"] = "AWS::Logs::MetricFilter"
			want["OptionsWebhooksgithubRoute"], want["GetWebhooksbankRoute"] = "AWS::ApiGatewayV2::Route", "AWS::ApiGatewayV2::Route"
			for _, method := range []string{"Post", "Get", "Options"} {
				want[method+"WebhooksPermission"] = "AWS::Lambda::Permission"
			}
			for _, id := range queries {
				delete(want, id) // Props.SavedQueries is false
			}
		}
		got := map[string]string{}
		for id, resource := range tmpl.Resources {
			got[versionHash.ReplaceAllString(id, "$1")], _ = resource["Type"].(string)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(- want, + got)\n%s", d)
		}
	}
}

func TestOutputs(t *testing.T) {
	want := map[string]object{
		"ApiUrl":                 {"Value": get("Api", "ApiEndpoint")},
		"EnqueueFunctionName":    {"Value": live("EnqueueFunction")},
		"EnqueuePutFunctionName": {"Value": object{"Fn::Join": []any{":", []any{ref("EnqueueFunction"), "put"}}}},
		"SortFunctionName":       {"Value": live("SortFunction")},
		"SweepFunctionName":      {"Value": live("SweepFunction")},
		"DeliveryFunctionName":   {"Value": live("DeliveryFunction")},
		"FailureQueueUrl":        {"Value": ref("FailureQueue")},
		"AckFunctionName":        {"Value": live("AckFunction")},
		"ChainsTableName":        {"Value": ref("ChainsTable"), "Export": object{"Name": "Streamsort-ChainsTableName"}},
		"ArrivalsTableName":      {"Value": ref("ArrivalsTable"), "Export": object{"Name": "Streamsort-ArrivalsTableName"}},
		"AuditTableName":         {"Value": ref("AuditTable")},
		"TroubleTableName":       {"Value": ref("TroubleTable")},
		"DedupTableName":         {"Value": ref("DedupTable"), "Export": object{"Name": "Streamsort-DedupTableName"}},
		"ConsumersTableName":     {"Value": ref("ConsumersTable"), "Export": object{"Name": "Streamsort-ConsumersTableName"}},
		"SweepsTableName":        {"Value": ref("SweepsTable")},
		"TimerQueueUrl":          {"Value": ref("TimerQueue"), "Export": object{"Name": "Streamsort-TimerQueueUrl"}},
		"TimerQueueArn":          {"Value": get("TimerQueue", "Arn"), "Export": object{"Name": "Streamsort-TimerQueueArn"}},
		"MessagesTableName":      {"Value": ref("MessagesTable"), "Export": object{"Name": "Streamsort-MessagesTableName"}},
		"CursorsTableName":       {"Value": ref("CursorsTable"), "Export": object{"Name": "Streamsort-CursorsTableName"}},
		"CursorsStreamArn":       {"Value": get("CursorsTable", "StreamArn"), "Export": object{"Name": "Streamsort-CursorsStreamArn"}},
	}
	got := map[string]any{}
	for id, output := range defaults().Outputs {
		if output["Description"] == "" {
			t.Errorf("output %s has no description", id)
		}
		delete(output, "Description")
		got[id] = output
	}
	diff(t, "outputs", want, got)
	if name := changed().Outputs["CursorsStreamArn"]["Export"].(object)["Name"]; name != "Orders-CursorsStreamArn" {
		t.Errorf("a second stack exports %v", name)
	}
}

func TestErrorMakesNothing(t *testing.T) {
	app := awscdk.NewApp(nil)
	stack, err := NewStack(app, "Streamsort", &Props{MaxAhead: -1})
	if err == nil || stack != nil {
		t.Errorf("stack %v, error %v", stack, err)
	}
	for _, child := range *app.Node().Children() {
		if *child.Node().Id() == "Streamsort" {
			t.Error("the stack is there")
		}
	}
}
