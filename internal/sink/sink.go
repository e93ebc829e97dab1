package sink

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// Sink takes a consumer's batches. It may be used by any number of goroutines,
// for different queues.
type Sink interface {
	// Send hands one batch on, and returns when the sink has taken all of it,
	// or has not. ctx bounds it, with all repeats.
	//
	// Lost response: what was sent goes again and is dropped by SQS and SNS; a
	// function and EventBridge may get it twice. Another process sends the same
	// batch at the same time: the same. We die right after: the batch is sent
	// again under the consumer's next claim, with a higher token.
	Send(ctx context.Context, b handoff.Batch) error
}

// Options are what New can do without.
type Options struct {
	// Transport makes the requests; nil means one like http.DefaultTransport,
	// of the sink's own.
	Transport http.RoundTripper
}

// New returns the sink of a configuration. It makes no request. Where AWS is
// and who we are there is read from the environment, as package awsenv does:
// AWS_ENDPOINT_URL_LAMBDA, _SQS, _SNS or _EVENTBRIDGE, else AWS_ENDPOINT_URL.
// The region is that of the ARN.
func New(config Config, options *Options) (Sink, error) {
	target, err := config.check()
	if err != nil {
		return nil, err
	}
	if partition, _ := awscall.Partition(target.Region); target.Partition != partition {
		return nil, fmt.Errorf("arn %q is of the partition %q: its region is of %q", bounded(config.ARN), target.Partition, partition)
	}
	transport := newTransport(options)
	limits := config.limits()
	switch config.Kind {
	case Lambda:
		return newLambda(target, limits, transport)
	case SQS:
		return newSQS(target, limits, transport)
	case SNS:
		return newSNS(target, limits, transport)
	}
	return newEventBridge(target, limits, transport)
}

func newTransport(options *Options) http.RoundTripper {
	if options != nil && options.Transport != nil {
		return options.Transport
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // queues are handed on side by side
	return transport
}

// requestTimeout bounds one try of a request that is answered at once.
const requestTimeout = 10 * time.Second

// TooLargeError is a message that the sink can never take.
type TooLargeError struct {
	// Kind is the sink's kind.
	Kind Kind
	// Seq is the message's.
	Seq int64
	// Bytes is what the message takes there, with its attributes; Limit is
	// what the sink takes.
	Bytes, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("message %d takes %d bytes in the sink: %s takes at most %d", e.Seq, e.Bytes, e.Kind, e.Limit)
}

// maxErrorText bounds what is kept of a sink's own words, in bytes.
const maxErrorText = 512

// bounded is the beginning of a sink's own words.
func bounded(text string) string {
	if len(text) <= maxErrorText {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:maxErrorText], "") + "…"
}
