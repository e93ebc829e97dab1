// Package sqs is the kind of sink that is an SQS FIFO queue.
package sqs

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/fifo"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Kind is an SQS FIFO queue.
var Kind = kind.Resource{
	Name: "sqs", Looks: "arn:aws:sqs:REGION:ACCOUNT:NAME.fifo", Action: "sqs:SendMessage",
	// "SendMessageBatch", Amazon SQS API Reference.
	Bytes: 1 << 20, MaxBytes: 1 << 20, Entries: 10, Events: true,
	Open: open,
}.Kind()

type queue struct {
	client *awscall.Client
	url    string
	limits kind.Limits
	events bool
}

// open names the queue by its URL, as SQS's API does.
func open(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
	client, err := awscall.New(awscall.SQS, awscall.Options{Region: t.ARN.Region, Transport: transport, Timeout: kind.RequestTimeout})
	if err != nil {
		return nil, err
	}
	return &queue{client: client, url: client.Endpoint() + "/" + t.ARN.AccountID + "/" + t.ARN.Resource, limits: t.Limits, events: t.Events}, nil
}

// Send implements [kind.Sink].
func (s *queue) Send(ctx context.Context, b delivery.Batch) error {
	items, err := fifo.Items(b, s.events)
	if err != nil {
		return err
	}
	return kind.SendAll(ctx, b.Queue, items, s.limits, true, s.put)
}

// put is one SendMessageBatch. SQS names entries by ids, which are their places here; one that the
// answer does not name was not taken, as far as we know.
func (s *queue) put(ctx context.Context, messages []fifo.Message) ([]kind.Refusal, error) {
	out, err := s.client.SendBatch(ctx, s.url, fifo.Entries(messages))
	if err != nil {
		return nil, fmt.Errorf("send %d messages to %s: %w", len(messages), s.url, err)
	}
	verdicts := fifo.NewVerdicts(len(messages))
	for _, taken := range out.Successful {
		i, ok := verdicts.Taken(taken.ID)
		if ok && !isSumOf(taken.MD5OfMessageBody, messages[i].Body) {
			return nil, fmt.Errorf("%s took a message that was changed on its way: its deduplication id is %s", s.url, messages[i].Dedup)
		}
	}
	verdicts.Refused(out.Failed)
	return verdicts.Refusals(), nil
}

// isSumOf reports whether SQS's sum is that of a body; it may leave it out.
func isSumOf(sum, body string) bool {
	own := md5.Sum([]byte(body))
	return sum == "" || sum == hex.EncodeToString(own[:])
}
