// Package sns is the kind of sink that is an SNS FIFO topic.
package sns

import (
	"net/http"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/fifo"
	"github.com/streamsort/streamsort/internal/sink/kind"
)

// Kind is an SNS FIFO topic.
var Kind = kind.Resource{
	Name: "sns", Looks: "arn:aws:sns:REGION:ACCOUNT:NAME.fifo", Action: "sns:Publish",
	// "PublishBatch", Amazon SNS API Reference. A topic takes 256 KiB unless its MaximumMessageSize
	// says otherwise.
	Bytes: 256 << 10, MaxBytes: 1 << 20, Entries: 10,
	Open: open,
}.Kind()

func open(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
	client, err := awscall.New(awscall.SNS,
		awscall.Options{Region: t.ARN.Region, Transport: transport, Timeout: kind.RequestTimeout})
	return &fifo.Sink{Target: t.ARN.String(), SendBatch: client.PublishBatch, Limits: t.Limits}, err
}
