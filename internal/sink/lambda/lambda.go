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
	"slices"
	"strings"
	"time"

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
		said, err := s.invoke(ctx, document)
		if err == nil && len(said.replies) > 0 {
			err = b.Reply(said.replies...)
		}
		if err == nil {
			err = kind.Defer(b, said.work, len(documents))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answer is what a function said that took the batch: its replies, and for how long it defers the batch.
type answer struct {
	replies []handoff.Reply
	work    time.Duration
}

// invoke calls the function once, and returns its answer.
func (s *function) invoke(ctx context.Context, document []byte) (answer, error) {
	out, err := s.client.Invoke(ctx, s.arn, awscall.RequestResponse, document)
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("call %s: %w", s.arn, err)
	case out.FunctionError != "":
		return answer{}, fmt.Errorf("%s failed: %s", s.arn, reason(out.FunctionError, out.Payload))
	case out.Status != http.StatusOK:
		return answer{}, fmt.Errorf("call %s: status %d, not 200", s.arn, out.Status)
	}
	said, err := readAnswer(out.Payload)
	if err != nil {
		return answer{}, fmt.Errorf("%s answered what is no answer: %w", s.arn, err)
	}
	return said, nil
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

// readAnswer takes nothing, null or a JSON object, and returns what its members "replies" and
// "deferSeconds" say. An object that lists failed items, as functions behind an
// event source answer, is no success. Of the answer nothing is shown: it may have
// parts of a message in it.
func readAnswer(payload []byte) (said answer, err error) {
	payload = bytes.TrimSpace(payload)
	switch {
	case len(payload) == 0 || string(payload) == "null":
		return said, nil
	case !json.Valid(payload):
		return said, fmt.Errorf("%d bytes that are not JSON; it must be null or a JSON object", len(payload))
	case payload[0] != '{':
		return said, errors.New("JSON that is neither null nor an object")
	}
	members, err := answerOf(payload)
	if err != nil {
		return said, err
	}
	var failed []any
	if failures := members["batchitemfailures"]; failures != nil && (json.Unmarshal(failures, &failed) != nil || len(failed) > 0) {
		return said, errors.New("batchItemFailures, which is not read here: a function that cannot take the batch must fail")
	}
	if work := members["deferseconds"]; work != nil && string(work) != "null" {
		var seconds int64
		if json.Unmarshal(work, &seconds) != nil {
			return said, errors.New("deferSeconds that is no whole number of seconds")
		}
		if said.work, err = kind.Deferral("deferSeconds", seconds); err != nil {
			return said, err
		}
	}
	if replies := members["replies"]; replies != nil && string(replies) != "null" {
		said.replies, err = reply.Read(replies)
	}
	return said, err
}

// answerOf is the members of an answer by their names in small letters: they count in capitals or not. One of those that
// are read here and that stands twice is refused, as everywhere here.
func answerOf(payload []byte) (map[string]json.RawMessage, error) {
	twice := errors.New("an object that has a member twice: nobody can tell which of the two counts")
	members, err := strictjson.Members(payload)
	if err != nil {
		// It is an object, so that nothing else is wrong with it.
		return nil, twice
	}
	all := map[string]json.RawMessage{}
	for _, m := range members {
		name := strings.ToLower(m.Name)
		if all[name] != nil && slices.Contains([]string{"replies", "batchitemfailures", "deferseconds"}, name) {
			return nil, twice
		}
		all[name] = m.Value
	}
	return all, nil
}
