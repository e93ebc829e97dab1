package template

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
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
	doc := check.Get(Parse([]byte(text)))
	foreign, _ := check.Get2(doc.ForeignTemplate(Options{}))
	check.That(t, foreign == nil, "%+v", foreign)
	read := check.Get(doc.Read(Options{}))
	want := []Queue{{LogicalID: "Clock", Name: "local-Clock", Delay: 3 * time.Second,
		Visibility: 90 * time.Second, Retention: time.Hour}}
	check.Is(t, cmp.Diff(want, read.Queues), "")
	check.Need(t, len(read.Readers) == 1 && read.Readers[0].ID != "", "readers %+v", read.Readers)
	read.Readers[0].ID = ""
	readers := []QueueMapping{{LogicalID: "Mapping", Function: "local-Work", Queue: "local-Clock",
		Enabled: true, BatchSize: 7, Concurrency: 4, ReportBatchItemFailures: true}}
	check.Is(t, cmp.Diff(readers, read.Readers), "")
	url := read.Functions[0].Env["CLOCK"]
	check.That(t, strings.HasSuffix(url, "/local-Clock"), "the function sends to %s", url)
}
