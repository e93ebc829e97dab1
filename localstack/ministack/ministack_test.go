package ministack

import (
	"context"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDeploy(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	s, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const template = `{
	 "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "orders"}}, "Work": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "work"}}},
	 "Outputs": {"RTopic": {"Value": {"Ref": "Topic"}}, "RWork": {"Value": {"Ref": "Work"}}}}`
	outputs, err := s.Deploy(ctx, "shop", []byte(template))
	if err != nil {
		t.Fatal(err)
	}
	if outputs["RTopic"] != "arn:aws:sns:us-east-1:000000000000:orders" || !strings.HasSuffix(outputs["RWork"], "/000000000000/work") {
		t.Errorf("outputs = %v", outputs)
	}
	if _, err := s.Deploy(ctx, "bad", []byte(`{"Resources": {"X": {"Type": "AWS::Nobody::Knows"}}}`)); err == nil {
		t.Error("a template with an unknown type was taken")
	}
	pid := s.process.Process.Pid
	s.Close()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the process is there after Close")
	}
}

func TestForTestShares(t *testing.T) {
	first, second := ForTest(t), ForTest(t)
	if first != second {
		t.Error("each call starts a server of its own")
	}
}

// TestDeployFIFO: a FIFO topic is one, and drops what comes twice.
func TestDeployFIFO(t *testing.T) {
	s := ForTest(t)
	const template = `{
	 "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "ordered.fifo", "FifoTopic": true}}},
	 "Outputs": {"RTopic": {"Value": {"Ref": "Topic"}}}}`
	outputs, err := s.Deploy(t.Context(), "ordered", []byte(template))
	if err != nil {
		t.Fatal(err)
	}
	var sequences []string
	for _, id := range []string{"one", "one", "two"} {
		var answer struct {
			Sequence string `xml:"PublishResult>SequenceNumber"`
		}
		publish := url.Values{
			"Action": {"Publish"}, "TopicArn": {outputs["RTopic"]}, "Message": {"hello"},
			"MessageGroupId": {"g"}, "MessageDeduplicationId": {id},
		}
		if err := s.call(t.Context(), sns, publish, &answer); err != nil {
			t.Fatal(err)
		}
		sequences = append(sequences, answer.Sequence)
	}
	if sequences[0] == "" || sequences[0] != sequences[1] || sequences[1] == sequences[2] {
		t.Errorf("sequence numbers %q, want that the second is the first again", sequences)
	}
}
