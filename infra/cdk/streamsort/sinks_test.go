package streamsort

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// sinks are one of each kind, the queue and the topic with a key of the user's.
func sinks(stack awscdk.Stack, function awslambda.Function) (all []Consumer) {
	key := awskms.NewKey(stack, jsii.String("Key"), nil)
	return []Consumer{
		{Name: "billing", To: awssqs.NewQueue(stack, jsii.String("Billing"), &awssqs.QueueProps{Fifo: jsii.Bool(true), EncryptionMasterKey: key}), Sink: &Sink{MaxEntries: 1}},
		{Name: "search", To: function, Prefix: "shop/"},
		{Name: "news", To: awssns.NewTopic(stack, jsii.String("News"), &awssns.TopicProps{Fifo: jsii.Bool(true), MasterKey: key})},
		{Name: "bus", To: awsevents.NewEventBus(stack, jsii.String("Bus"), nil)},
	}
}

// process is what a template says of Orders' process.
func (t template) process(tb testing.TB) (file, variables, policy string) {
	tb.Helper()
	var found int
	for id, resource := range t.Resources {
		if resource["Type"] == "AWS::Lambda::Function" && strings.HasPrefix(id, "OrdersProcessFunction") {
			found++
			file, _ = resource["Metadata"].(object)["streamsort:files"].(object)["consumers.json"].(string)
			variables = asText(tb, resource["Properties"].(object)["Environment"])
			policy = asText(tb, t.find(tb, "AWS::IAM::Policy", "OrdersProcessRoleDefaultPolicy")["PolicyDocument"])
		}
	}
	if found != 1 {
		tb.Fatalf("%d functions are process", found)
	}
	return file, variables, policy
}

func asText(tb testing.TB, value any) string {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Sinks as constructs, all at once, one after the other, and as properties of the construct:
// process has the same configuration and the same rights.
func TestAddSink(t *testing.T) {
	ways := map[string]func(*Streamsort, []Consumer) error{
		"at once": func(s *Streamsort, all []Consumer) error { return s.AddSink(all...) },
		"one by one": func(s *Streamsort, all []Consumer) error {
			for _, c := range all {
				if err := s.AddSink(c); err != nil {
					return err
				}
			}
			return nil
		},
	}
	for way, add := range ways {
		t.Run(way, func(t *testing.T) {
			stack, s, function, read := own(t)
			if err := add(s, sinks(stack, function)); err != nil {
				t.Fatal(err)
			}
			made := read()
			file, variables, policy := made.process(t)
			if want := `{"consumers":[{"name":"billing","sink":{"kind":"sqs","arn":"${STREAMSORT_SINK_0}","maxEntries":1}},` +
				`{"name":"search","sink":{"kind":"lambda","arn":"${STREAMSORT_SINK_1}"},"prefix":"shop/"},` +
				`{"name":"news","sink":{"kind":"sns","arn":"${STREAMSORT_SINK_2}"}},` +
				`{"name":"bus","sink":{"kind":"eventbridge","arn":"${STREAMSORT_SINK_3}"}}]}`; file != want {
				t.Errorf("the file is %s", file)
			}
			for _, want := range []string{`"STREAMSORT_SINK_0":{"Fn::GetAtt":["Billing`, `"STREAMSORT_SINK_1":{"Fn::GetAtt":["Books`, `"STREAMSORT_SINK_2":{"Ref":"News`, `"STREAMSORT_SINK_3":{"Fn::GetAtt":["Bus`} {
				if !strings.Contains(variables, want) {
					t.Errorf("no %s in %s", want, variables)
				}
			}
			for _, want := range []string{`"Action":"lambda:InvokeFunction","Effect":"Allow","Resource":{"Fn::GetAtt":["Books`, `"sns:Publish"`, `"events:PutEvents"`, `["kms:Decrypt","kms:GenerateDataKey"],"Effect":"Allow","Resource":{"Fn::GetAtt":["Key`} {
				if !strings.Contains(policy, want) {
					t.Errorf("no %s in %s", want, policy)
				}
			}
			readers := made.find(t, "AWS::Lambda::Function", "OrdersSweepFunction")["Environment"].(object)["Variables"].(object)["STREAMSORT_READERS"]
			if readers != `[{"name":"billing"},{"name":"search","prefix":"shop/"},{"name":"news"},{"name":"bus"}]` {
				t.Errorf("the sweep gets %v", readers)
			}
			made.find(t, "AWS::Lambda::EventSourceMapping", "OrdersProcessMapping")
			for _, alarm := range []string{"Behind", "FarBehind", "Errors", "Throttles"} {
				made.find(t, "AWS::CloudWatch::Alarm", "OrdersProcess"+alarm+"Alarm")
			}
			if board := asText(t, made.find(t, "AWS::CloudWatch::Dashboard", "OrdersDashboard")); !strings.Contains(board, "OrdersProcessFunction") {
				t.Error("the dashboard does not show process")
			}
			if query := asText(t, made.find(t, "AWS::Logs::QueryDefinition", "OrdersFailuresQuery")); !strings.Contains(query, "OrdersProcessLogs") {
				t.Error("the queries do not look at process's log")
			}
		})
	}
}

// What lies beside the program that is deployed are all consumers.
func TestAddSinkPacksTheProgramAnew(t *testing.T) {
	stack, s, function, read := own(t)
	for _, c := range sinks(stack, function)[:2] {
		if err := s.AddSink(c); err != nil {
			t.Fatal(err)
		}
	}
	made := read()
	key, _ := made.find(t, "AWS::Lambda::Function", "OrdersProcessFunction")["Code"].(object)["S3Key"].(string)
	folder := filepath.Join(*awscdk.Stage_Of(stack).AssetOutdir(), "asset."+strings.TrimSuffix(key, ".zip"))
	packed, err := os.ReadFile(filepath.Join(folder, "consumers.json"))
	if err != nil {
		t.Fatal(err)
	}
	if file, _, _ := made.process(t); string(packed) != file || !strings.Contains(file, "billing") || !strings.Contains(file, "search") {
		t.Errorf("packed %s, described %s", packed, file)
	}
	if _, err := os.Stat(filepath.Join(folder, "bootstrap")); err != nil {
		t.Error(err)
	}
}

func TestAddSinkRefuses(t *testing.T) {
	stack, s, function, read := own(t)
	queue := func(id string, fifo *bool) awssqs.Queue {
		return awssqs.NewQueue(stack, &id, &awssqs.QueueProps{Fifo: fifo})
	}
	good := Consumer{Name: "good", To: queue("Good", jsii.Bool(true))}
	if err := s.AddSink(good); err != nil {
		t.Fatal(err)
	}
	if err := s.AddConsumer("Again", function, Consumer{Name: "good"}); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a reader under a sink's name: %v", err)
	}
	if err := s.AddConsumer("Books", function, Consumer{Name: "books"}); err != nil {
		t.Fatal(err)
	}
	of := func(to constructs.IConstruct) Consumer { return Consumer{Name: "c", To: to} }
	for want, c := range map[string]Consumer{
		`"c", Shop/Standard, FIFO, awssqs.QueueProps`: of(queue("Standard", nil)),
		`"c", Shop/Topic, FIFO, awssns.TopicProps`:    of(awssns.NewTopic(stack, jsii.String("Topic"), nil)),
		`"c", Shop/Foreign, FIFO`:                     of(awssqs.Queue_FromQueueArn(stack, jsii.String("Foreign"), jsii.String("arn:aws:sqs:eu-west-1:123456789012:standard"))),
		`"c", Shop/Table, no sink`: of(awsdynamodb.NewTableV2(stack, jsii.String("Table"), &awsdynamodb.TablePropsV2{
			PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("p"), Type: awsdynamodb.AttributeType_STRING},
		})),
		`"c", no sink, To`:                             {Name: "c"},
		`"c", To, kind, ARN`:                           {Name: "c", To: good.To, Sink: &Sink{Kind: "sqs"}},
		`consumers[1].sink, "kafka", lambda, sqs, sns`: {Name: "c", Sink: &Sink{Kind: "kafka", ARN: new("x")}},
		`maxEntries, lambda`:                           {Name: "c", To: function, Sink: &Sink{MaxEntries: 3}},
		`consumers[1].name, "good", consumers[0]`:      {Name: "good", To: function},
		`"books", already`:                             {Name: "books", To: function},
		`consumers[1].name, 129, 128`:                  {Name: strings.Repeat("c", 129), To: function},
		`consumers, 3059, 2000`:                        {Name: "c", Prefix: strings.Repeat("p", 3000), To: function},
	} {
		err := s.AddSink(c)
		if err == nil {
			t.Errorf("no error that names %s", want)
			continue
		}
		wantNamed(t, err, strings.Split(want, ", ")...)
	}
	if file, _, _ := read().process(t); strings.Contains(file, `"c"`) || !strings.Contains(file, `"good"`) {
		t.Errorf("a refused sink is in %s", file)
	}
}

// Two functions of the user's own leave no reader of the stream for process.
func TestAddSinkPastTheStreamsReaders(t *testing.T) {
	stack, s, function, _ := own(t)
	for _, id := range []string{"A", "B"} {
		if err := s.AddConsumer(id, function); err != nil {
			t.Fatal(err)
		}
	}
	queue := awssqs.NewQueue(stack, jsii.String("Queue"), &awssqs.QueueProps{Fifo: jsii.Bool(true)})
	if err := s.AddSink(Consumer{Name: "c", To: queue}); err == nil || !strings.Contains(err.Error(), "process") {
		t.Errorf("error %v", err)
	}
}

// What AddSink takes, the properties take too.
func TestConsumersWithConstructs(t *testing.T) {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	p := &Props{Consumers: []Consumer{{Name: "c", To: awssqs.NewQueue(stack, jsii.String("Standard"), nil)}}}
	if _, err := p.complete("Orders"); err == nil || !strings.Contains(err.Error(), "Shop/Standard") {
		t.Errorf("error %v", err)
	}
	p.Consumers[0].To = awssqs.NewQueue(stack, jsii.String("Good"), &awssqs.QueueProps{Fifo: jsii.Bool(true)})
	c, err := p.complete("Orders")
	if err != nil || c.Consumers[0].Sink.Kind != "sqs" {
		t.Errorf("%+v, %v", c.Consumers, err)
	}
	if p.Consumers[0].Sink != nil {
		t.Error("the caller's consumers were changed")
	}
}
