//go:build whole

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// TestQueueReader reads a FIFO queue that runs: all of it, in order, once.
func TestQueueReader(t *testing.T) {
	server := ministack.ForTest(t)
	outputs := check.Get(server.Deploy(t.Context(), "reader", []byte(`{
	 "Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "reader.fifo", "FifoQueue": true}}},
	 "Outputs": {"Q": {"Value": {"Ref": "Q"}}}}`), nil))
	const count = 25
	in := traffic.NewAccount()
	w := traffic.NewWatcher("queue", traffic.Queued, traffic.All, in)
	for seq := range int64(count) {
		in.Note(traffic.Plain("q", seq+1, fmt.Sprintf(`{"n": %d}`, seq+1), ""))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var seqs []string
	reader, err := newQueueReader(outputs["Q"], func(m types.Message) error {
		seqs = append(seqs, *m.MessageAttributes["seq"].StringValue)
		return taking(w, outputOfFIFO)(m)
	})
	check.OK(t, err)
	var want []string
	for seq := range count {
		want = append(want, strconv.Itoa(seq+1))
		check.Get(reader.client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: &reader.url, MessageBody: aws.String(fmt.Sprintf(`{"n": %d}`, seq+1)),
			MessageGroupId: aws.String("q"), MessageDeduplicationId: aws.String(strconv.Itoa(seq)),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"queue": {DataType: aws.String("Binary"), BinaryValue: []byte("q")},
				"seq":   {DataType: aws.String("String"), StringValue: aws.String(strconv.Itoa(seq + 1))},
				"token": {DataType: aws.String("String"), StringValue: aws.String("1-req")},
			},
		}))
	}
	since := time.Now()
	for !reader.empty(since) {
		check.OK(t, reader.once(ctx))
	}
	check.Is(t, cmp.Diff(want, seqs), "")
	got := w.State()
	check.That(t, got == (traffic.State{Messages: count}) && len(w.Missing()) == 0,
		"%+v: %q", got, w.Report())
	stop()
	err = reader.run(ctx)
	check.That(t, err == nil, "the end of a run is an error: %v", err)
}

// TestQueueReaderTakesOnce: what SQS delivers again is not taken again, and its queue is empty only
// when it is deleted.
func TestQueueReaderTakesOnce(t *testing.T) {
	server := ministack.ForTest(t)
	outputs, err := server.Deploy(t.Context(), "once", []byte(`{
	 "Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "once", "VisibilityTimeout": 0}}},
	 "Outputs": {"Q": {"Value": {"Ref": "Q"}}}}`), nil)
	check.OK(t, err)
	times := 0
	var reader *queueReader
	reader, err = newQueueReader(outputs["Q"], func(m types.Message) error {
		times++
		if times > 1 {
			return nil
		}
		// Somebody else gets it meanwhile, so that our receipt does not delete it.
		_, err := reader.client.ReceiveMessage(t.Context(),
			&sqs.ReceiveMessageInput{QueueUrl: &reader.url})
		return err
	})
	check.OK(t, err)
	check.Get(reader.client.SendMessage(t.Context(),
		&sqs.SendMessageInput{QueueUrl: &reader.url, MessageBody: aws.String("1")}))
	said := reader.holds(t.Context())
	check.That(t, strings.HasSuffix(said, "/once holds 1 messages, and 0 in flight"), "said %s", said)
	since := time.Now()
	for !reader.empty(since) {
		check.OK(t, reader.once(t.Context()))
	}
	check.That(t, times == 1 && reader.redelivered() == 1, "%d %d", times, reader.redelivered())
}

// TestQueueReaderEnds: a message that cannot be read, and a queue that is not there, end it.
func TestQueueReaderEnds(t *testing.T) {
	server := ministack.ForTest(t)
	reader, err := newQueueReader(server.Endpoint+"/000000000000/nowhere", func(types.Message) error {
		return nil
	})
	check.OK(t, err)
	check.IsA[*types.QueueDoesNotExist](t, reader.run(t.Context()))
	_, err = newQueueReader("", nil)
	check.That(t, err != nil, "no URL was taken")
}
