// Package sqs is the kind of sink that is an SQS FIFO queue.
package sqs

import (
	"net/http"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/fifo"
	"github.com/streamsort/streamsort/internal/sink/kind"
)

// Kind is an SQS FIFO queue.
var Kind = kind.Resource{
	Name: "sqs", Looks: "arn:aws:sqs:REGION:ACCOUNT:NAME.fifo", Action: "sqs:SendMessage",
	// "SendMessageBatch", Amazon SQS API Reference.
	Bytes: 1 << 20, MaxBytes: 1 << 20, Entries: 10, Events: true,
	Open: open,
}.Kind()

// open names the queue by its URL, as SQS's API does.
func open(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
	client, err := awscall.New(awscall.SQS,
		awscall.Options{Region: t.ARN.Region, Transport: transport, Timeout: kind.RequestTimeout})
	if err != nil {
		return nil, err
	}
	url := client.Endpoint() + "/" + t.ARN.AccountID + "/" + t.ARN.Resource
	s := fifo.Sink{Target: url, SendBatch: client.SendBatch, Limits: t.Limits, Events: t.Events}
	return &s, nil
}
