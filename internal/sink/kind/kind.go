// Package kind is what all kinds of sink are made of. Each has a folder of its own beside this one,
// which says what it is by a [Kind]; package sink has them all in one table.
//
// A kind whose sinks have an ARN makes its Kind by [Resource.Kind], and one that takes several
// messages in a request sends them by [SendAll].
package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Kind is a kind of sink.
type Kind struct {
	// Name is what a configuration calls it.
	Name string
	// Example is an ARN as its sinks have it, be it a secret's; Action what IAM must allow for one.
	Example, Action string
	// Read reads a configuration: strictly, so that a member that is not known, or out of its
	// bounds, is an error that begins with the member's name.
	Read func(json.RawMessage) (Settings, error)
}

// Settings are what a configuration says of one sink. They are within their bounds.
type Settings interface {
	// Open returns the sink. It makes no request.
	Open(Options) (Sink, error)
}

// Options are what a sink is given that no configuration says.
type Options struct {
	// Transport makes the requests to AWS's services.
	Transport http.RoundTripper
	// Endpoints is where each queue of a consumer goes to, for a sink whose configuration does not
	// say.
	Endpoints Endpoints
}

// Endpoints finds where a queue of a consumer goes to. The error is an *AwayError where it has no
// endpoint, or must not be sent to it now.
type Endpoints func(ctx context.Context, consumer, queue string) (Endpoint, error)

// Endpoint is where a queue's messages go to.
type Endpoint struct {
	URL string
	// Secrets are what requests are signed with, as Standard Webhooks writes them, the newest
	// first.
	Secrets []string
	// Own says that it is not the stack owner's: it may be at a public address alone.
	Own bool
}

// Sink takes a consumer's batches. It may be used by any number of goroutines, for different
// queues.
type Sink interface {
	// Send delivers one batch, and returns when the sink has taken all of it, or has not. ctx
	// bounds it, with all repeats.
	//
	// Lost response: what was sent goes again and is dropped by SQS and SNS; a function and
	// EventBridge may get it twice. Another process sends the same batch at the same time: the
	// same. We die right after: the batch is sent again under the consumer's next claim, with a
	// higher token.
	Send(ctx context.Context, b delivery.Batch) error
}

// Defer defers a batch for as many seconds as the answer to one of its requests says; "" and null
// are not at all. The token is the whole batch's, so that no other request may be of it. For a
// tracked batch, the chain says it.
func Defer(b delivery.Batch, seconds string, requests int) error {
	if seconds == "" || seconds == "null" || b.Edges != nil {
		return nil
	}
	n, err := strconv.ParseInt(seconds, 10, 32)
	switch {
	case err != nil:
		return fmt.Errorf("the answer defers the batch for %q: it must be a whole number of seconds",
			Bounded(seconds))
	case requests > 1:
		return fmt.Errorf("the answer to one of %d requests defers the batch, and its token commits all of it: "+
			"have maxMessages 1, or one request a batch", requests)
	}
	return b.Defer(time.Duration(n) * time.Second)
}

// MessageOf is the batch's i-th message as a document, with its edge where the batch is tracked.
func MessageOf(b delivery.Batch, i int) message.Document {
	written := message.New(b.Messages[i])
	written.Edge = EdgeOf(b, i)
	return written
}

// EdgeOf is the token of the i-th message's edge, empty where the batch is not tracked.
func EdgeOf(b delivery.Batch, i int) string {
	if b.Edges == nil {
		return ""
	}
	return b.Edges[i].String()
}

// EventOf is the batch's i-th message as a CloudEvent in JSON. What a consumer has to know of the
// delivery are extensions of it: streamsortqueue, streamsortseq, streamsortconsumer,
// streamsorttoken, and streamsortedge where the batch is tracked. Data that the sink does not take
// as JSON, of which encode says so, is in base64; encode may be nil.
func EventOf(b delivery.Batch, i int, encode func(data []byte) bool) ([]byte, error) {
	m := b.Messages[i]
	m.Queue = b.Queue
	e := cloudevents.Of(m)
	for name, value := range map[string]string{
		"streamsortqueue": b.Queue, "streamsortseq": strconv.FormatInt(m.Seq, 10), "streamsortconsumer": b.Consumer,
		"streamsorttoken": b.Token.String(), "streamsortedge": EdgeOf(b, i),
	} {
		if delete(e.Kinds, name); value != "" {
			e.Attributes[name] = value
		}
	}
	return e.JSON(encode)
}

// RequestTimeout bounds one try of a request that is answered at once.
const RequestTimeout = 10 * time.Second

// Limits are what one request to a sink may hold.
type Limits struct {
	// Kind is the name of the sink's kind.
	Kind  string
	Bytes int
	// Entries is 0 where a request has one document.
	Entries int
}

// TooLargeError is a message that the sink can never take.
type TooLargeError struct {
	// Kind is the name of the sink's kind.
	Kind string
	// Seq is the message's.
	Seq int64
	// Bytes is what the message takes there, with its attributes; Limit is what the sink takes.
	Bytes, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("message %d takes %d bytes in the sink: %s takes at most %d", e.Seq, e.Bytes,
		e.Kind, e.Limit)
}

// MaxErrorText bounds what is kept of a sink's own words, in bytes.
const MaxErrorText = 512

// Bounded is the beginning of a sink's own words.
func Bounded(text string) string {
	if len(text) <= MaxErrorText {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:MaxErrorText], "") + "…"
}
