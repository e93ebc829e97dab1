// Package sns is the kind of sink that is an SNS FIFO topic.
package sns

import (
	"context"
	"fmt"
	"net/http"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/fifo"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Kind is an SNS FIFO topic.
var Kind = kind.Resource{
	Name: "sns", Looks: "arn:aws:sns:REGION:ACCOUNT:NAME.fifo", Action: "sns:Publish",
	// "PublishBatch", Amazon SNS API Reference. A topic takes 256 KiB unless its MaximumMessageSize
	// says otherwise.
	Bytes: 256 << 10, MaxBytes: 1 << 20, Entries: 10,
	Open: open,
}.Kind()

type topic struct {
	client *awscall.Client
	arn    string
	limits kind.Limits
}

func open(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
	client, err := awscall.New(awscall.SNS, awscall.Options{Region: t.ARN.Region, Transport: transport, Timeout: kind.RequestTimeout})
	return &topic{arn: t.ARN.String(), limits: t.Limits, client: client}, err
}

// Send implements [kind.Sink].
func (s *topic) Send(ctx context.Context, b delivery.Batch) error {
	items, err := fifo.Items(b, false)
	if err != nil {
		return err
	}
	return kind.SendAll(ctx, b.Queue, items, s.limits, true, s.put)
}

// put is one PublishBatch.
func (s *topic) put(ctx context.Context, messages []fifo.Message) ([]kind.Refusal, error) {
	out, err := s.client.PublishBatch(ctx, s.arn, fifo.Entries(messages))
	if err != nil {
		return nil, fmt.Errorf("publish %d messages to %s: %w", len(messages), s.arn, err)
	}
	verdicts := fifo.NewVerdicts(len(messages))
	for _, taken := range out.Successful {
		verdicts.Taken(taken.ID)
	}
	verdicts.Refused(out.Failed)
	return verdicts.Refusals(), nil
}
