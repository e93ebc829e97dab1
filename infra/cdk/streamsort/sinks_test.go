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
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
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
	check.Says(t, s.AddConsumer("Again", function, Consumer{Name: "good"}), "is there already")
	unread := Consumer{Name: "books", Start: "latest"}
	check.Says(t, s.AddConsumer("Books", function, unread), "a field that nothing reads here")
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
		wantNamed(t, s.AddSink(c), strings.Split(want, ", ")...)
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
	check.Says(t, check.Err(p.complete("Orders")), "Shop/Standard")
	p.Consumers[0].To = awssqs.NewQueue(stack, jsii.String("Good"),
		&awssqs.QueueProps{Fifo: jsii.Bool(true)})
	c, err := p.complete("Orders")
	check.That(t, err == nil && c.Consumers[0].Sink.Kind == "sqs", "%+v, %v", c.Consumers, err)
	check.That(t, p.Consumers[0].Sink == nil, "the caller's consumers were changed")
}

// own is a stack of a user's own with two Streamsorts in it, of which the first has the properties,
// and a function.
func own(t *testing.T,
	props Props) (stack awscdk.Stack, s *Streamsort, function awslambda.Function) {
	t.Helper()
	stack = awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Shop"), nil)
	props.Binaries = binaries[ARM64]
	s, err := New(stack, "Orders", &props)
	if err == nil {
		_, err = New(stack, "Returns", &Props{Binaries: binaries[ARM64]})
	}
	check.OK(t, err)
	function = awslambda.NewFunction(stack, jsii.String("Books"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
		Code: awslambda.Code_FromAsset(jsii.String(binaries[ARM64]+"/process"), nil),
	})
	return stack, s, function
}

// TestUse pins what the construct's methods make of a stack of the user's own: consumers behind the
// cursors' stream and grants, with a key and a function URL; and sinks of each kind, one by one, of
// which some put messages in turn (no circle), some are called at once, and some have endpoints.
func TestUse(t *testing.T) {
	for file, c := range map[string]struct {
		props Props
		use   func(awscdk.Stack, *Streamsort, awslambda.Function) error
	}{
		"testdata/grants.txt": {Props{EncryptionKey: NewKey, FunctionURL: true},
			func(stack awscdk.Stack, s *Streamsort, function awslambda.Function) error {
				for name, grant := range map[string]func(awsiam.IGrantable){
					"Producer": s.GrantProduce, "Owner": s.GrantConfigure, "Operator": s.GrantOperate,
					"Puller": s.GrantConsume, "Worker": s.GrantAck,
				} {
					grant(awsiam.NewUser(stack, &name, nil))
				}
				return s.AddConsumer("Books", function, Consumer{Name: "books", Prefix: "shop/", Track: "1m"})
			}},
		"testdata/sinks.txt": {Props{Shift: "AllAtOnce"},
			func(stack awscdk.Stack, s *Streamsort, function awslambda.Function) (err error) {
				function.AddEnvironment(jsii.String("ENQUEUE"), s.EnqueueFunction.FunctionArn(), nil)
				s.GrantProduce(function)
				secret := awssecretsmanager.NewSecret(stack, jsii.String("Hooks"), nil)
				for _, c := range append(
					sinks(stack, function),
					Consumer{Name: "shelf", To: awss3.NewBucket(stack, jsii.String("Shelf"), nil)},
					Consumer{Name: "made", Sink: &Sink{Kind: "s3"}},
					Consumer{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{
						URL: "https://example.com/hooks", Mode: "batch", Timeout: "5s", Ports: []int{443},
						Headers: map[string]string{"X-Env": "prod"},
						Sign: &Sign{Scheme: "standard", Secret: secret.SecretFullArn(),
							Key: awskms.NewKey(stack, jsii.String("HooksKey"), nil).KeyArn()},
					}}},
					Consumer{Name: "plain",
						Sink: &Sink{Kind: "http", HTTP: HTTP{URL: "https://example.com/plain"}}},
					Consumer{Name: "endpoints", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}},
					Consumer{Name: "more", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}},
					Consumer{Name: "eager", To: function, Eager: true},
					Consumer{Name: "prefixed", To: function, Prefix: "a/", Eager: true},
				) {
					err = errors.Join(err, s.AddSink(c))
				}
				return err
			}},
	} {
		base, _, _ := own(t, c.props)
		stack, s, function := own(t, c.props)
		check.OK(t, c.use(stack, s, function))
		pinned(t, file, differences(t, written(stack), written(base)))
	}
}

// Two functions read the cursors' stream at most, process among them.
func TestStreamsReaders(t *testing.T) {
	_, s, function := own(t, Props{})
	for _, id := range []string{"A", "B"} {
		check.OK(t, s.AddConsumer(id, function))
	}
	check.Says(t, s.AddConsumer("Third", function), "two functions read the cursors' stream")
	check.Says(t, s.AddSink(Consumer{Name: "c", To: function}), "process")
}
