package template

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A queue that a function reads is the runner's own, also where others send to it.
func TestQueuesThatFunctionsRead(t *testing.T) {
	const text = `{"Resources": {
  "Clock": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 3, "VisibilityTimeout": 90, "MessageRetentionPeriod": 3600}},
  "ClockPolicy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [{"Ref": "Clock"}]}},
  "Work": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "work"}, "Properties": {"Runtime": "provided.al2023", "Handler": "bootstrap",
   "Environment": {"Variables": {"CLOCK": {"Ref": "Clock"}}}}},
  "Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {
   "FunctionName": {"Ref": "Work"}, "EventSourceArn": {"Fn::GetAtt": ["Clock", "Arn"]}, "BatchSize": 7,
   "FunctionResponseTypes": ["ReportBatchItemFailures"], "ScalingConfig": {"MaximumConcurrency": 4}}}
}}`
	doc, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if foreign, _, err := doc.ForeignTemplate(Options{}); err != nil || foreign != nil {
		t.Errorf("others run %s, %v", foreign, err)
	}
	read, err := doc.Read(Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Queue{{LogicalID: "Clock", Name: "local-Clock", Delay: 3 * time.Second, Visibility: 90 * time.Second, Retention: time.Hour}}
	if diff := cmp.Diff(want, read.Queues); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	if len(read.Readers) != 1 || read.Readers[0].ID == "" {
		t.Fatalf("readers %+v", read.Readers)
	}
	read.Readers[0].ID = ""
	readers := []QueueMapping{{LogicalID: "Mapping", Function: "local-Work", Queue: "local-Clock", Enabled: true, BatchSize: 7, Concurrency: 4, ReportBatchItemFailures: true}}
	if diff := cmp.Diff(readers, read.Readers); diff != "" {
		t.Errorf("readers (-want +got):\n%s", diff)
	}
	if url := read.Functions[0].Env["CLOCK"]; !strings.HasSuffix(url, "/local-Clock") {
		t.Errorf("the function sends to %s", url)
	}
}
