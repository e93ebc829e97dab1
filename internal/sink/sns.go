package sink

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/pkg/handoff"
)

type snsSink struct {
	client *sns.Client
	arn    string
	limits limits
}

func newSNS(arn string, l limits, env awsenv.Settings, transport http.RoundTripper) *snsSink {
	return &snsSink{arn: arn, limits: l, client: sns.New(sns.Options{
		Region: env.Region, Credentials: env.Credentials, BaseEndpoint: env.Endpoint,
		HTTPClient: &http.Client{Transport: transport, Timeout: requestTimeout},
	})}
}

// Send implements Sink.
func (s *snsSink) Send(ctx context.Context, b handoff.Batch) error {
	items, err := fifoItems(b)
	if err != nil {
		return err
	}
	return sendAll(ctx, b.Queue, items, s.limits, true, s.put)
}

// put is one PublishBatch.
func (s *snsSink) put(ctx context.Context, messages []fifoMessage) ([]refusal, error) {
	in := &sns.PublishBatchInput{TopicArn: &s.arn, PublishBatchRequestEntries: make([]types.PublishBatchRequestEntry, len(messages))}
	for i, m := range messages {
		in.PublishBatchRequestEntries[i] = types.PublishBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), Message: &m.body, MessageGroupId: &m.group, MessageDeduplicationId: &m.dedup,
			MessageAttributes: map[string]types.MessageAttributeValue{},
		}
		for _, a := range m.attributes {
			value := types.MessageAttributeValue{DataType: &a.dataType}
			if a.dataType == "Binary" {
				value.BinaryValue = []byte(a.value)
			} else {
				value.StringValue = &a.value
			}
			in.PublishBatchRequestEntries[i].MessageAttributes[a.name] = value
		}
	}
	out, err := s.client.PublishBatch(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("publish %d messages to %s: %w", len(messages), s.arn, err)
	}
	told := newVerdicts(len(messages))
	for _, taken := range out.Successful {
		told.taken(taken.Id)
	}
	for _, failed := range out.Failed {
		told.refused(failed.Id, failed.Code, failed.Message, failed.SenderFault)
	}
	return told.refusals(), nil
}
