package template

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const foreignStack = `{
 "Parameters": {"Name": {"Type": "String", "Default": "orders"}},
 "Resources": {
  "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Ref": "Name"}}},
  "Work": {"Type": "AWS::SQS::Queue", "Properties": {"RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}, "maxReceiveCount": 3}}},
  "Dead": {"Type": "AWS::SQS::Queue"},
  "Failures": {"Type": "AWS::SQS::Queue"},
  "Sub": {"Type": "AWS::SNS::Subscription", "Properties": {"Protocol": "sqs", "TopicArn": {"Ref": "Topic"}, "Endpoint": {"Fn::Join": ["", [{"Fn::GetAtt": ["Work", "Arn"]}, ""]]}}},
  "F": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "f"}, "Properties": {
   "Runtime": "provided.al2023", "DeadLetterConfig": {"TargetArn": {"Fn::GetAtt": ["Failures", "Arn"]}},
   "Environment": {"Variables": {"TOPIC": {"Ref": "Topic"}, "QUEUE": {"Fn::Sub": "${Work.QueueName}"}}}}}
 }}`

func TestForeignTemplate(t *testing.T) {
	doc, err := Parse([]byte(foreignStack))
	if err != nil {
		t.Fatal(err)
	}
	text, services, err := doc.ForeignTemplate(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"SNS", "SQS"}, services); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	const want = `{
	 "Resources": {
	  "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "orders"}},
	  "Work": {"Type": "AWS::SQS::Queue", "Properties": {"RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}, "maxReceiveCount": 3}}},
	  "Dead": {"Type": "AWS::SQS::Queue", "Properties": {}},
	  "Sub": {"Type": "AWS::SNS::Subscription", "Properties": {"Protocol": "sqs", "TopicArn": {"Ref": "Topic"}, "Endpoint": {"Fn::Join": ["", [{"Fn::GetAtt": ["Work", "Arn"]}, ""]]}}}
	 },
	 "Outputs": {
	  "RTopic": {"Value": {"Ref": "Topic"}},
	  "AWorkAQueueName": {"Value": {"Fn::GetAtt": ["Work", "QueueName"]}}
	 }}`
	var gotValue, wantValue any
	if err := json.Unmarshal(text, &gotValue); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wantValue); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantValue, gotValue); diff != "" {
		t.Errorf("foreign template (-want +got):\n%s", diff)
	}

	read, err := doc.Read(Options{Foreign: func(id, attribute string) (string, error) { return ForeignOutput(id, attribute), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"TOPIC": "RTopic", "QUEUE": "AWorkAQueueName"}, read.Functions[0].Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if len(read.Queues) != 1 || read.Queues[0].Name != "local-Failures" || read.Functions[0].Async.OnFailure != "local-Failures" {
		t.Errorf("queues = %+v, dead letters to %q; want the failure queue alone", read.Queues, read.Functions[0].Async.OnFailure)
	}
}

func TestForeignNone(t *testing.T) {
	doc, err := Parse([]byte(`{"Resources": {"T": {"Type": "AWS::Logs::LogGroup"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if text, services, err := doc.ForeignTemplate(Options{}); text != nil || services != nil || err != nil {
		t.Errorf("ForeignTemplate = %s, %v, %v; want nothing", text, services, err)
	}
}

func TestForeignCallsFunction(t *testing.T) {
	doc, err := Parse([]byte(strings.Replace(foreignStack, `{"Fn::Join": ["", [{"Fn::GetAtt": ["Work", "Arn"]}, ""]]}`, `{"Fn::GetAtt": ["F", "Arn"]}`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = doc.ForeignTemplate(Options{})
	if err == nil || !strings.Contains(err.Error(), "Resources.Sub.Properties: names function F") {
		t.Errorf("error = %v; want the subscription that names F", err)
	}
}

// A queue that a rule sends to is in use; one that takes what the rule's target
// does not is for failures.
func TestForeignRuleTargets(t *testing.T) {
	doc, err := Parse([]byte(`{"Resources": {
	 "Taken": {"Type": "AWS::SQS::Queue"},
	 "Failed": {"Type": "AWS::SQS::Queue"},
	 "Rule": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["shop"]}, "Targets": [
	  {"Id": "q", "Arn": {"Fn::GetAtt": ["Taken", "Arn"]}, "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Failed", "Arn"]}}}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"Taken": true, "Failed": false, "Rule": true}, doc.foreign); diff != "" {
		t.Errorf("run by other services (-want +got):\n%s", diff)
	}
}
