package streamsort

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// own is a stack of a user's own with two Streamsorts in it, and a function.
func own(t *testing.T) (stack awscdk.Stack, s *Streamsort, function awslambda.Function, read func() template) {
	t.Helper()
	dir := t.TempDir()
	if err := fakebin.Write(dir, "arm64"); err != nil {
		t.Fatal(err)
	}
	stack = awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Shop"), nil)
	var err error
	if s, err = New(stack, "Orders", &Props{Binaries: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err = New(stack, "Returns", &Props{Binaries: dir}); err != nil {
		t.Fatal(err)
	}
	function = awslambda.NewFunction(stack, jsii.String("Books"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
		Code: awslambda.Code_FromAsset(jsii.String(dir+"/process"), nil),
	})
	return stack, s, function, func() template { return written(t, stack) }
}

// written is a stack as it is written.
func written(t *testing.T, stack awscdk.Stack) template {
	t.Helper()
	text, err := json.Marshal(assertions.Template_FromStack(stack, nil).ToJSON())
	if err != nil {
		t.Fatal(err)
	}
	var made template
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// granted is a stack in which others may use a Streamsort with this key.
func granted(t *testing.T, key string) template {
	t.Helper()
	dir := t.TempDir()
	if err := fakebin.Write(dir, "arm64"); err != nil {
		t.Fatal(err)
	}
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Shop"), nil)
	s, err := New(stack, "Orders", &Props{Binaries: dir, EncryptionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	function := awslambda.NewFunction(stack, jsii.String("Books"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
		Code: awslambda.Code_FromAsset(jsii.String(dir+"/process"), nil),
	})
	if err := s.AddConsumer("Books", function, Consumer{Name: "books"}); err != nil {
		t.Fatal(err)
	}
	s.GrantConsume(awsiam.NewUser(stack, jsii.String("Puller"), nil))
	s.GrantAck(awsiam.NewUser(stack, jsii.String("Worker"), nil))
	return written(t, stack)
}

// find is the one resource of a type whose logical id begins so.
func (t template) find(tb testing.TB, typ, prefix string) object {
	tb.Helper()
	var found object
	for id, resource := range t.Resources {
		if resource["Type"] == typ && strings.HasPrefix(id, prefix) {
			if found != nil {
				tb.Fatalf("two %s begin with %s", typ, prefix)
			}
			found = resource["Properties"].(object)
		}
	}
	if found == nil {
		tb.Fatalf("no %s begins with %s", typ, prefix)
	}
	return found
}

func TestAddConsumer(t *testing.T) {
	stack, s, function, read := own(t)
	if err := s.AddConsumer("Books", function, Consumer{Name: "books", Prefix: "shop/", Track: "1m"}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddConsumer("Search", function); err != nil {
		t.Fatal(err)
	}
	if err := s.AddConsumer("Third", function); err == nil || !strings.Contains(err.Error(), "two functions read the cursors' stream") {
		t.Errorf("error %v", err)
	}
	user := awsiam.NewUser(stack, jsii.String("Producer"), nil)
	s.GrantProduce(user)
	operator := awsiam.NewUser(stack, jsii.String("Operator"), nil)
	s.GrantOperate(operator)
	consumer := awsiam.NewUser(stack, jsii.String("Puller"), nil)
	s.GrantConsume(consumer)
	worker := awsiam.NewUser(stack, jsii.String("Worker"), nil)
	s.GrantAck(worker)
	made := read()
	readers := made.find(t, "AWS::Lambda::Function", "OrdersSweepFunction")["Environment"].(object)["Variables"].(object)["STREAMSORT_READERS"]
	if readers != `[{"name":"books","prefix":"shop/"}]` {
		t.Errorf("the sweep gets %v", readers)
	}
	mapping := made.find(t, "AWS::Lambda::EventSourceMapping", "OrdersBooksMapping")
	filters, err := json.Marshal(mapping["FilterCriteria"])
	if err != nil || !strings.Contains(string(filters), "advance") || mapping["StartingPosition"] != "TRIM_HORIZON" {
		t.Errorf("mapping %v", mapping)
	}
	variables := made.find(t, "AWS::Lambda::Function", "Books")["Environment"].(object)["Variables"].(object)
	for _, name := range []string{"MESSAGES", "CURSORS", "CONSUMERS", "DEDUP", "CHAINS"} {
		if variables["STREAMSORT_"+name+"_TABLE"] == nil {
			t.Errorf("the function does not get its %s table", strings.ToLower(name))
		}
	}
	for prefix, actions := range map[string][]string{
		"BooksServiceRole": {"dynamodb:GetRecords", "dynamodb:Query", "sqs:SendMessage", "dynamodb:UpdateItem"},
		"Producer":         {"lambda:InvokeFunction", "execute-api:Invoke"},
		"Operator":         {"lambda:InvokeFunction", "execute-api:Invoke"},
		"Puller":           {"dynamodb:Query", "dynamodb:UpdateItem"},
		"Worker":           {"lambda:InvokeFunction", "execute-api:Invoke", "dynamodb:UpdateItem"},
	} {
		policy, err := json.Marshal(made.find(t, "AWS::IAM::Policy", prefix)["PolicyDocument"])
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range actions {
			if !strings.Contains(string(policy), action) {
				t.Errorf("%s may not %s", prefix, action)
			}
		}
		if strings.Contains(string(policy), `"dynamodb:*"`) {
			t.Errorf("%s may do everything", prefix)
		}
	}
}

// A producer puts, and one who configures sets queues up: nobody is given the alias of enqueue that
// does everything, by which it could do the other's work.
func TestGrantsAreNarrow(t *testing.T) {
	stack, s, _, read := own(t)
	s.GrantProduce(awsiam.NewUser(stack, jsii.String("Producer"), nil))
	s.GrantConfigure(awsiam.NewUser(stack, jsii.String("Owner"), nil))
	made := read()
	granted := func(prefix string) object {
		all := object{}
		for _, value := range made.find(t, "AWS::IAM::Policy", prefix)["PolicyDocument"].(object)["Statement"].([]any) {
			for _, resource := range many(value.(object)["Resource"]) {
				id := name(resource)
				all[id[strings.LastIndex(id, "Orders"):]] = value.(object)["Action"]
			}
		}
		return all
	}
	route := func(key string) string {
		for id, resource := range made.Resources {
			if resource["Type"] == "AWS::ApiGatewayV2::Api" && strings.HasPrefix(id, "Orders") {
				return id + "/*/" + key
			}
		}
		return ""
	}
	alias := ""
	for id, resource := range made.Resources {
		if strings.HasPrefix(id, "Orders") && resource["Type"] == "AWS::Lambda::Alias" && resource["Properties"].(object)["Name"] == "put" {
			alias = id
		}
	}
	diff(t, "a producer", object{alias: "lambda:InvokeFunction", route("POST/messages"): "execute-api:Invoke"}, granted("Producer"))
	diff(t, "one who configures", object{route("GET/queues"): "execute-api:Invoke", route("PUT/queues"): "execute-api:Invoke"}, granted("Owner"))
}
