package streamsort

import (
	"encoding/json"
	"errors"
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

	"github.com/streamsort/streamsort/internal/dev/check"
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

func asText(tb testing.TB, value any) string {
	tb.Helper()
	return string(check.Get(json.Marshal(value)))
}

// A refused sink changes nothing: what lies beside the program that is deployed are all consumers
// but those.
func TestAddSinkRefuses(t *testing.T) {
	stack, s, function := own(t, Props{})
	queue := func(id string, fifo *bool) awssqs.Queue {
		return awssqs.NewQueue(stack, &id, &awssqs.QueueProps{Fifo: fifo})
	}
	good := Consumer{Name: "good", To: queue("Good", jsii.Bool(true))}
	check.OK(t, errors.Join(s.AddSink(good), s.AddSink(Consumer{Name: "second", To: function})))
	if err := s.AddConsumer("Again", function, Consumer{Name: "good"}); err == nil ||
		!strings.Contains(err.Error(), "is there already") {
		t.Errorf("a reader under a sink's name: %v", err)
	}
	check.OK(t, s.AddConsumer("Books", function, Consumer{Name: "books"}))
	of := func(to constructs.IConstruct) Consumer { return Consumer{Name: "c", To: to} }
	for want, c := range map[string]Consumer{
		`"c", Shop/Standard, FIFO, awssqs.QueueProps`: of(queue("Standard", nil)),
		`"c", Shop/Topic, FIFO, awssns.TopicProps`:    of(awssns.NewTopic(stack, jsii.String("Topic"), nil)),
		`"c", Shop/Foreign, FIFO`:                     of(awssqs.Queue_FromQueueArn(stack, jsii.String("Foreign"), jsii.String("arn:aws:sqs:eu-west-1:123456789012:standard"))),
		`"c", Shop/Table, no sink`: of(awsdynamodb.NewTableV2(stack, jsii.String("Table"),
			&awsdynamodb.TablePropsV2{
				PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("p"),
					Type: awsdynamodb.AttributeType_STRING},
			})),
		`"c", no sink, To`:                             {Name: "c"},
		`"c", To, kind, ARN`:                           {Name: "c", To: good.To, Sink: &Sink{Kind: "sqs"}},
		`consumers[2].sink, "kafka", lambda, sqs, sns`: {Name: "c", Sink: &Sink{Kind: "kafka", ARN: new("x")}},
		`"c", url, not a public one`:                   {Name: "c", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: "https://10.1.2.3/"}}},
		`maxEntries, lambda`:                           {Name: "c", To: function, Sink: &Sink{MaxEntries: 3}},
		`consumers[2].name, "good", consumers[0]`:      {Name: "good", To: function},
		`"books", already`:                             {Name: "books", To: function},
		`consumers[2].name, 129, 128`:                  {Name: strings.Repeat("c", 129), To: function},
		`consumers, 3091, 2000`:                        {Name: "c", Prefix: strings.Repeat("p", 3000), To: function},
	} {
		err := s.AddSink(c)
		if err == nil {
			t.Errorf("no error that names %s", want)
			continue
		}
		wantNamed(t, err, strings.Split(want, ", ")...)
	}
	found := 0
	for id, resource := range written(stack).Resources {
		if resource["Type"] != "AWS::Lambda::Function" ||
			!strings.HasPrefix(id, "OrdersProcessFunction") {
			continue
		}
		found++
		key := resource["Properties"].(object)["Code"].(object)["S3Key"].(string)
		folder := filepath.Join(*awscdk.Stage_Of(stack).AssetOutdir(),
			"asset."+strings.TrimSuffix(key, ".zip"))
		packed, err := os.ReadFile(filepath.Join(folder, "consumers.json"))
		diff(t, "described", object{"consumers.json": string(packed)},
			resource["Metadata"].(object)["streamsort:files"])
		_, missing := os.Stat(filepath.Join(folder, "bootstrap"))
		check.That(t, errors.Join(err, missing) == nil && !strings.Contains(string(packed), `"c"`) &&
			strings.Count(string(packed), `"name"`) == 2, "packed %s, %v, %v", packed, err, missing)
	}
	check.That(t, found == 1, "%d functions are process", found)
}

// What AddSink takes, the properties take too.
func TestConsumersWithConstructs(t *testing.T) {
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Shop"), nil)
	p := &Props{
		Consumers: []Consumer{{Name: "c", To: awssqs.NewQueue(stack, jsii.String("Standard"), nil)}},
	}
	if _, err := p.complete("Orders"); err == nil || !strings.Contains(err.Error(), "Shop/Standard") {
		t.Errorf("error %v", err)
	}
	p.Consumers[0].To = awssqs.NewQueue(stack, jsii.String("Good"),
		&awssqs.QueueProps{Fifo: jsii.Bool(true)})
	c, err := p.complete("Orders")
	check.That(t, err == nil && c.Consumers[0].Sink.Kind == "sqs", "%+v, %v", c.Consumers, err)
	check.That(t, p.Consumers[0].Sink == nil, "the caller's consumers were changed")
}
