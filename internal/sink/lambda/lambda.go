// Package lambda is the kind of sink that is a Lambda function, called
// synchronously.
package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/reply"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// Kind is a Lambda function.
var Kind = kind.Resource{
	Name: "lambda", Looks: "arn:aws:lambda:REGION:ACCOUNT:function:NAME", Action: "lambda:InvokeFunction",
	// "Invoke", AWS Lambda API Reference. A request has one document.
	Bytes: 6 << 20, MaxBytes: 6 << 20,
	Open: open,
}.Kind()

type function struct {
	client *awscall.Client
	arn    string
	limits kind.Limits
}

// open sets no time limit on a request: it takes as long as the function,
// and Send's context ends it. Only a call that was throttled, and so did not
// run, is repeated here. One that may run yet would run twice at once; the
// consumer repeats it under its next claim.
func open(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
	throttled := retry.RetryableErrorCode{Codes: map[string]struct{}{
		"TooManyRequestsException": {}, "EC2ThrottledException": {},
	}}
	client, err := awscall.New(awscall.Lambda, awscall.Options{
		Region: t.ARN.Region, Transport: transport,
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Retryables = []retry.IsErrorRetryable{throttled}
		}),
	})
	return &function{arn: t.ARN.String(), limits: t.Limits, client: client}, err
}

// Send implements [kind.Sink].
func (s *function) Send(ctx context.Context, b handoff.Batch) error {
	documents, err := Documents(b, s.limits)
	if err != nil {
		return err
	}
	for _, document := range documents {
		replies, deferred, err := s.invoke(ctx, document)
		if err == nil && len(replies) > 0 {
			err = b.Reply(replies...)
		}
		if err == nil {
			err = kind.Defer(b, deferred, len(documents))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// invoke calls the function once, and returns the replies of its answer, and for how many seconds
// that defers the batch.
func (s *function) invoke(ctx context.Context, document []byte) (replies []handoff.Reply, deferred string, err error) {
	out, err := s.client.Invoke(ctx, s.arn, awscall.RequestResponse, document)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("call %s: %w", s.arn, err)
	case out.FunctionError != "":
		return nil, "", fmt.Errorf("%s failed: %s", s.arn, reason(out.FunctionError, out.Payload))
	case out.Status != http.StatusOK:
		return nil, "", fmt.Errorf("call %s: status %d, not 200", s.arn, out.Status)
	}
	if replies, deferred, err = readAnswer(out.Payload); err != nil {
		return nil, "", fmt.Errorf("%s answered what is no answer: %w", s.arn, err)
	}
	return replies, deferred, nil
}

// reason is what a failed function says: the type and the text of its error
// where it wrote them as Lambda's runtimes do.
func reason(failure string, payload []byte) string {
	var said struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(payload, &said) == nil && said.ErrorType+said.ErrorMessage != "" {
		return kind.Bounded(said.ErrorType + ": " + said.ErrorMessage)
	}
	return kind.Bounded(failure + ": " + string(payload[:min(len(payload), kind.MaxErrorText)]))
}

// readAnswer takes nothing, null or a JSON object, and returns the replies of its
// member "replies", and its member "deferSeconds". An object that lists failed items, as functions behind an
// event source answer, is no success. Of the answer nothing is shown: it may have
// parts of a message in it.
func readAnswer(payload []byte) (replies []handoff.Reply, deferred string, err error) {
	payload = bytes.TrimSpace(payload)
	switch {
	case len(payload) == 0 || string(payload) == "null":
		return nil, "", nil
	case !json.Valid(payload):
		return nil, "", fmt.Errorf("%d bytes that are not JSON; it must be null or a JSON object", len(payload))
	case payload[0] != '{':
		return nil, "", errors.New("JSON that is neither null nor an object")
	}
	written, failures, work, err := answerOf(payload)
	if err != nil {
		return nil, "", err
	}
	var failed []any
	switch {
	case failures != nil && (json.Unmarshal(failures, &failed) != nil || len(failed) > 0):
		return nil, "", errors.New("batchItemFailures, which is not read here: a function that cannot take the batch must fail")
	case written != nil && string(written) != "null":
		replies, err = reply.Read(written)
	}
	return replies, string(work), err
}

// answerOf is the members of an answer that count, in capitals or not; nil for one
// that is not there. A member that stands twice is refused, as everywhere here.
func answerOf(payload []byte) (replies, failures, deferred json.RawMessage, err error) {
	twice := errors.New("an object that has a member twice: nobody can tell which of the two counts")
	members, err := strictjson.Members(payload)
	if err != nil {
		// It is an object, so that nothing else is wrong with it.
		return nil, nil, nil, twice
	}
	for _, m := range members {
		counts := &replies
		switch {
		case strings.EqualFold(m.Name, "batchItemFailures"):
			counts = &failures
		case strings.EqualFold(m.Name, "deferSeconds"):
			counts = &deferred
		case !strings.EqualFold(m.Name, "replies"):
			continue
		}
		if *counts != nil {
			return nil, nil, nil, twice
		}
		*counts = m.Value
	}
	return replies, failures, deferred, nil
}
