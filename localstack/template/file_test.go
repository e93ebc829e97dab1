package template

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// folder is a folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestReadFile(t *testing.T) {
	dir := folder(t, map[string]string{
		"base.json": `{"Resources": {"A": {"Type": "X", "List": [1, 3], "a/b": 12345678901234567890}}}`,
		"one/patch.json": `{"Base": "../base.json", "Patch": [
			{"op": "add", "path": "/Resources/A/List/1", "value": 2},
			{"op": "replace", "path": "/Resources/A/Type", "value": "Y <&>"},
			{"op": "add", "path": "/Outputs", "value": {}}]}`,
		"two/patch.json": `{"Base": "../one/patch.json", "Patch": [{"op": "remove", "path": "/Resources/A/a~1b"}]}`,
		"same.json":      `{"Base": "one/patch.json", "Patch": []}`,
	})
	const patched = `{"Outputs": {}, "Resources": {"A": {"Type": "Y <&>", "List": [1, 2, 3], "a/b": 12345678901234567890}}}`
	for name, want := range map[string]string{
		"base.json":      `{"Resources": {"A": {"Type": "X", "List": [1, 3], "a/b": 12345678901234567890}}}`,
		"one/patch.json": patched,
		"two/patch.json": `{"Outputs": {}, "Resources": {"A": {"Type": "Y <&>", "List": [1, 2, 3]}}}`,
		"same.json":      patched,
	} {
		text, err := ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check.Is(t, cmp.Diff(exact(t, want), exact(t, string(text))), "", name)
	}
}

// TestAbsoluteBase: a patch names its base from its own folder, or by a path that is whole.
func TestAbsoluteBase(t *testing.T) {
	dir := folder(t, map[string]string{"base.json": `{"Resources": {}}`})
	patch := filepath.Join(folder(t,
		map[string]string{"patch.json": `{"Base": "` + filepath.ToSlash(filepath.Join(dir, "base.json")) +
			`", "Patch": []}`}), "patch.json")
	text := check.Get(ReadFile(patch))
	check.That(t, strings.Contains(string(text), "Resources"), "%+v", text)
}

// exact is a JSON text as a value that keeps each digit of its numbers.
func exact(t *testing.T, text string) (value any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	check.Need(t, err == nil, "%v: %s", err, text)
	return value
}

func TestReadFileErrors(t *testing.T) {
	dir := folder(t, map[string]string{
		"base.json":    `{"Resources": {"A": {"Type": "X"}}}`,
		"broken.json":  `{`,
		"nowhere.json": `{"Base": "absent.json", "Patch": []}`,
		"itself.json":  `{"Base": "./itself.json", "Patch": []}`,
		"round.json":   `{"Base": "about.json", "Patch": []}`,
		"about.json":   `{"Base": "round.json", "Patch": []}`,
		"empty.json":   `{"Base": "base.json"}`,
		"object.json":  `{"Base": "base.json", "Patch": {}}`,
		"unknown.json": `{"Base": "base.json", "Patch": [{"op": "change", "path": "/Resources", "value": 1}]}`,
		"remove.json":  `{"Base": "base.json", "Patch": [{"op": "remove", "path": "/Resources/B"}]}`,
		"replace.json": `{"Base": "base.json", "Patch": [{"op": "replace", "path": "/Resources/A/Of", "value": 1}]}`,
		"deep.json":    `{"Base": "base.json", "Patch": [{"op": "add", "path": "/Resources/B/Type", "value": "X"}]}`,
		"over.json":    `{"Base": "remove.json", "Patch": []}`,
		"garbled.json": `{"Base": "broken.json", "Patch": [{"op": "remove", "path": "/Resources"}]}`,
	})
	for name, want := range map[string]string{
		"absent.json": "absent.json", "nowhere.json": "absent.json",
		"itself.json": "itself.json: Base: ", "round.json": "round.json: Base: ",
		"empty.json": "empty.json: Patch: ", "object.json": "object.json: Patch: ", "unknown.json": "change",
		"remove.json": "/Resources/B", "replace.json": "/Resources/A/Of", "deep.json": "/Resources/B/Type",
		"over.json": "remove.json: Patch: ", "garbled.json": "garbled.json: Patch: ",
	} {
		text, err := ReadFile(filepath.Join(dir, name))
		check.Says(t, err, want, name, text)
	}
	// What is no patch, Parse refuses with words of its own.
	for name, text := range map[string]string{
		"broken.json": `{`, "both.json": `{"Base": "base.json", "Patch": [], "Resources": {"A": {"Type": "X"}}}`, "number.json": `{"Base": 1, "Patch": []}`,
	} {
		read, err := ReadFile(filepath.Join(folder(t, map[string]string{name: text}), name))
		check.That(t, err == nil && string(read) == text, "%s: %q, %v", name, read, err)
		_, err = Parse(read)
		check.That(t, err != nil, "Parse takes %s", text)
	}
}

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
	doc := check.Get(Parse([]byte(foreignStack)))
	text, services := check.Get2(doc.ForeignTemplate(Options{}))
	check.Is(t, cmp.Diff([]string{"SNS", "SQS"}, services), "")
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
	check.OK(t, json.Unmarshal(text, &gotValue))
	check.OK(t, json.Unmarshal([]byte(want), &wantValue))
	check.Is(t, cmp.Diff(wantValue, gotValue), "")

	read, err := doc.Read(Options{Foreign: func(id, attribute string) (string, error) {
		return ForeignOutput(id, attribute), nil
	}})
	check.OK(t, err)
	diff := cmp.Diff(map[string]string{"TOPIC": "RTopic", "QUEUE": "AWorkAQueueName"},
		read.Functions[0].Env)
	check.That(t, diff == "", "environment (-want +got):\n%s", diff)
	if len(read.Queues) != 1 || read.Queues[0].Name != "local-Failures" ||
		read.Functions[0].Async.OnFailure != "local-Failures" {
		t.Errorf("queues = %+v, dead letters to %q; want the failure queue alone", read.Queues,
			read.Functions[0].Async.OnFailure)
	}
}

// What calls a function from a service that is not part of the local stack is not run, and is
// reported; the function itself is.
func TestWhatCallsFromElsewhereIsNotRun(t *testing.T) {
	doc := check.Get(Parse([]byte(`{"Resources": {
	 "F": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "x"}, "Properties": {"Runtime": "provided.al2023", "Handler": "bootstrap", "Code": {"ZipFile": ""}, "Role": "r", "Environment": {"Variables": {"STREAMSORT_FAILURE_QUEUE": {"Ref": "Failures"}}}}},
	 "Alias": {"Type": "AWS::Lambda::Alias", "Properties": {"FunctionName": {"Ref": "F"}, "FunctionVersion": "1", "Name": "live"}},
	 "Topic": {"Type": "AWS::SNS::Topic"},
	 "Subscription": {"Type": "AWS::SNS::Subscription", "Properties": {"Protocol": "lambda", "TopicArn": {"Ref": "Topic"}, "Endpoint": {"Ref": "Alias"}, "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Failures", "Arn"]}}}},
	 "Rule": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["shop"]}, "Targets": [{"Id": "f", "Arn": {"Fn::GetAtt": ["F", "Arn"]}}]}},
	 "Failures": {"Type": "AWS::SQS::Queue"},
	 "Fifo": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": true}},
	 "OfFifo": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"FunctionName": {"Ref": "Alias"}, "EventSourceArn": {"Fn::GetAtt": ["Fifo", "Arn"]}}},
	 "Stream": {"Type": "AWS::Kinesis::Stream", "Properties": {"ShardCount": 1}},
	 "OfStream": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"FunctionName": {"Ref": "Alias"}, "EventSourceArn": {"Fn::GetAtt": ["Stream", "Arn"]}, "StartingPosition": "LATEST"}},
	 "OfMSK": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"FunctionName": {"Ref": "Alias"}, "EventSourceArn": "arn:aws:kafka:eu-west-1:123456789012:cluster/c/1", "Topics": ["t"]}},
	 "OfKafka": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"FunctionName": {"Ref": "Alias"}, "SelfManagedEventSource": {"Endpoints": {"KafkaBootstrapServers": ["b:9092"]}}}}}}`)))
	want := map[string]bool{"Topic": true, "Subscription": false, "Rule": false, "Failures": false,
		"Fifo": true, "Stream": true}
	for id, is := range want {
		check.Is(t, doc.foreign[id], is, id)
	}
	read, err := doc.Read(Options{Foreign: func(id, attribute string) (string, error) {
		return id + attribute, nil
	}})
	check.OK(t, err)
	check.Is(t, cmp.Diff([]string{
		"OfFifo: only standard queues are read here",
		"OfKafka: there is no Kafka here",
		"OfMSK: there is no Kafka here",
		"OfStream: no stream of Kinesis is read here",
		"Rule: a bus of MiniStack does not reach the functions here",
		"Subscription: a topic of MiniStack does not reach the functions here",
	}, read.NotRun), "", "not run (-want +got)")
	check.That(t, len(read.Functions) == 1 && len(read.Mappings)+len(read.Readers) == 0, "%+v", read)
}

// Another service's resource that calls a function in a way which nobody knows of is refused.
func TestForeignCallsFunction(t *testing.T) {
	doc, err := Parse([]byte(`{"Resources": {"F": {"Type": "AWS::Lambda::Function"},
	 "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"NotificationConfiguration": {"LambdaConfigurations": [{"Event": "s3:ObjectCreated:*", "Function": {"Fn::GetAtt": ["F", "Arn"]}}]}}}}}`))
	check.OK(t, err)
	_, _, err = doc.ForeignTemplate(Options{})
	if err == nil || !strings.Contains(err.Error(), "Resources.Bucket.Properties: names function F") {
		t.Errorf("error = %v; want the bucket that names F", err)
	}
}

// A queue that a rule sends to is in use; one that takes what the rule's target does not is for
// failures.
func TestForeignRuleTargets(t *testing.T) {
	doc := check.Get(Parse([]byte(`{"Resources": {
	 "Taken": {"Type": "AWS::SQS::Queue"},
	 "Failed": {"Type": "AWS::SQS::Queue"},
	 "Rule": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["shop"]}, "Targets": [
	  {"Id": "q", "Arn": {"Fn::GetAtt": ["Taken", "Arn"]}, "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Failed", "Arn"]}}}]}}}}`)))
	diff := cmp.Diff(map[string]bool{"Taken": true, "Failed": false, "Rule": true}, doc.foreign)
	check.Is(t, diff, "")
}
