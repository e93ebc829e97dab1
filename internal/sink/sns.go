package sink

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/pkg/handoff"
)

type snsSink struct {
	client *awscall.Client
	arn    string
	limits limits
}

func newSNS(target arn.ARN, l limits, transport http.RoundTripper) (*snsSink, error) {
	client, err := awscall.New(awscall.SNS, awscall.Options{Region: target.Region, Transport: transport, Timeout: requestTimeout})
	return &snsSink{arn: target.String(), limits: l, client: client}, err
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
	out, err := s.client.PublishBatch(ctx, s.arn, entriesOf(messages))
	if err != nil {
		return nil, fmt.Errorf("publish %d messages to %s: %w", len(messages), s.arn, err)
	}
	told := newVerdicts(len(messages))
	for _, taken := range out.Successful {
		told.taken(taken.ID)
	}
	told.refused(out.Failed)
	return told.refusals(), nil
}
