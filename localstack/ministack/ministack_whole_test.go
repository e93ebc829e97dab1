//go:build whole

package ministack

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestDeploy(t *testing.T) {
	ctx := t.Context()
	s := check.Get(Start(ctx))
	defer s.Close()
	const template = `{
	 "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "orders"}}, "Work": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "work"}}},
	 "Outputs": {"RTopic": {"Value": {"Ref": "Topic"}}, "RWork": {"Value": {"Ref": "Work"}}}}`
	outputs := check.Get(s.Deploy(ctx, "shop", []byte(template), nil))
	check.That(t, outputs["RTopic"] == "arn:aws:sns:us-east-1:000000000000:orders" &&
		strings.HasSuffix(outputs["RWork"], "/000000000000/work"), "outputs = %v", outputs)
	_, err := s.Deploy(ctx, "bad", []byte(`{"Resources": {"X": {"Type": "AWS::Nobody::Knows"}}}`), nil)
	check.That(t, err != nil, "a template with an unknown type was taken")
	check.OK(t, s.healthy(ctx))
	s.Close()
	check.That(t, s.healthy(ctx) != nil, "the server answers after Close")
}

// TestDeployFIFO: a FIFO topic is one, and drops what comes twice.
func TestDeployFIFO(t *testing.T) {
	s := ForTest(t)
	const template = `{
	 "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "ordered.fifo", "FifoTopic": true}}},
	 "Outputs": {"RTopic": {"Value": {"Ref": "Topic"}}}}`
	outputs, err := s.Deploy(t.Context(), "ordered", []byte(template), nil)
	check.OK(t, err)
	var sequences []string
	for _, id := range []string{"one", "one", "two"} {
		var answer struct {
			Sequence string `xml:"PublishResult>SequenceNumber"`
		}
		publish := url.Values{
			"Action": {"Publish"}, "TopicArn": {outputs["RTopic"]}, "Message": {"hello"},
			"MessageGroupId": {"g"}, "MessageDeduplicationId": {id},
		}
		check.OK(t, s.sns(t.Context(), publish, &answer))
		sequences = append(sequences, answer.Sequence)
	}
	check.That(t, sequences[0] != "" && sequences[0] == sequences[1] && sequences[1] != sequences[2],
		"sequence numbers %q, want that the second is the first again", sequences)
}

// A strict server takes what is signed by somebody who may, over TLS, and nothing else.
func TestStrict(t *testing.T) {
	ctx := t.Context()
	s := check.Get(StartStrict(ctx))
	defer s.Close()
	const template = `{"Parameters": {"Name": {"Type": "String"}},
	 "Resources": {"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Ref": "Name"}, "BillingMode": "PAY_PER_REQUEST",
	  "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}]}}},
	 "Outputs": {"RTable": {"Value": {"Ref": "Table"}}}}`
	outputs, err := s.Deploy(ctx, "shop", []byte(template), map[string]string{"Name": "orders"})
	check.Need(t, err == nil && outputs["RTable"] == "orders", "%v, %v", outputs, err)
	// The largest number that DynamoDB keeps comes back whole.
	const largest = "99999999999999999999999999999999999999"
	item := map[string]any{"k": map[string]string{"S": "a"}, "n": map[string]string{"N": largest}}
	var got struct {
		Item struct{ N struct{ N string } }
	}
	check.OK(t, s.JSON(ctx, "dynamodb", "DynamoDB_20120810.PutItem",
		map[string]any{"TableName": "orders", "Item": item}, &got))
	err = s.JSON(ctx, "dynamodb", "DynamoDB_20120810.GetItem",
		map[string]any{"TableName": "orders", "Key": map[string]any{"k": item["k"]}}, &got)
	check.That(t, err == nil && got.Item.N.N == largest, "%s came back, %v", got.Item.N.N, err)

	response, err := s.Client().Post(s.Endpoint, "application/x-amz-json-1.0", strings.NewReader("{}"))
	check.OK(t, err)
	err = response.Body.Close()
	check.That(t, err == nil && response.StatusCode/100 != 2, "%s %v", response.Status, err)
	if response, err := http.Get(s.Endpoint); err == nil {
		_ = response.Body.Close()
		t.Error("a client that does not know the certificate took it")
	}
}
