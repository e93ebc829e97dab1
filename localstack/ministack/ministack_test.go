package ministack

import (
	"context"
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
