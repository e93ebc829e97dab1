package streamsort

import (
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"
)

// TestEager: where a consumer is eager, what moves queues knows its queues and may call process by
// its alias, and nothing else may; such a call is not repeated, and does not wait for long. Where
// none is, there is nothing of it.
func TestEager(t *testing.T) {
	for _, eager := range []bool{true, false} {
		made := synthesize("Orders", &Props{
			Webhooks: changedProps().Webhooks,
			Consumers: []Consumer{
				{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}},
				{Name: "books", Prefix: "shop/", Eager: eager, Sink: &Sink{Kind: "lambda", ARN: jsii.String(bookARN)}},
			},
		})
		const process = `:function:orders-process:live`
		for id, resource := range made.Resources {
			text := asText(t, resource["Properties"])
			switch {
			case strings.HasPrefix(id, "CallProcess"):
				if want := `"Roles":[{"Ref":"EnqueueRole"},{"Ref":"SortRole"},{"Ref":"SweepRole"},{"Ref":"DeliveryRole"},{"Ref":"ProcessRole"},{"Ref":"WebhookRole"}]`; !eager ||
					!strings.Contains(text, want) || !strings.Contains(text, process) || strings.Count(text, "Action") != 1 {
					t.Errorf("%s is %s", id, text)
				}
			case resource["Type"] == "AWS::Lambda::Function" && strings.Contains(text, process):
				if !eager || id == "AckFunction" || id == "ProcessSlowFunction" {
					t.Errorf("%s may call process", id)
				}
				if known := strings.Contains(text, `\"prefix\":\"shop/\",\"eager\":true}]`); known != (id != "ProcessFunction") {
					t.Errorf("%s knows who is eager: %v", id, known)
				}
			case strings.Contains(text, process):
				t.Errorf("%s refers to process by its name", id)
			}
		}
		calls, named := made.Resources["ProcessCalls"], made.Resources["ProcessFunction"]["Properties"].(object)["FunctionName"]
		if !eager {
			if calls != nil || named != nil {
				t.Errorf("nobody is eager: %v, %v", calls, named)
			}
			continue
		}
		if named != "orders-process" {
			t.Errorf("process is called %v", named)
		}
		diff(t, "ProcessCalls", object{
			"FunctionName": ref("ProcessFunction"), "Qualifier": "live", "MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0,
		}, made.properties(t, "ProcessCalls", "AWS::Lambda::EventInvokeConfig"))
	}
}

// TestAddEagerSinks: a sink that puts messages in turn makes no circle of resources, and consumers
// that are added later are known where the first is.
func TestAddEagerSinks(t *testing.T) {
	_, s, function, read := own(t)
	function.AddEnvironment(jsii.String("ENQUEUE"), s.EnqueueFunction.FunctionArn(), nil)
	s.GrantProduce(function)
	for _, c := range []Consumer{{Name: "slow", To: function}, {Name: "books", To: function, Eager: true}, {Name: "more", To: function, Prefix: "a/", Eager: true}} {
		if err := s.AddSink(c); err != nil {
			t.Fatal(err)
		}
	}
	made := read() // which fails where there is a circle
	variables := made.find(t, "AWS::Lambda::Function", "OrdersEnqueueFunction")["Environment"].(object)["Variables"].(object)
	if got := variables["STREAMSORT_READERS"]; got != `[{"name":"books","eager":true},{"name":"more","prefix":"a/","eager":true}]` {
		t.Errorf("enqueue knows %v", got)
	}
	made.find(t, "AWS::IAM::Policy", "OrdersCallProcess")
}

// TestEagerNames: process's name has its bound.
func TestEagerNames(t *testing.T) {
	id := strings.Repeat("a", 57)
	all := []Consumer{{Name: "books", Eager: true, Sink: &Sink{Kind: "lambda", ARN: jsii.String(bookARN)}}}
	err := (&Props{Consumers: all}).withDefaults(id).validate(id)
	if err == nil || !strings.Contains(err.Error(), "has 65 characters; 64 is the most") {
		t.Errorf("error %v", err)
	}
	all[0].Eager = false
	if err := (&Props{Consumers: all}).withDefaults(id).validate(id); err != nil {
		t.Error(err)
	}
}
