package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/pkg/handoff"
)

type lambdaSink struct {
	client *awscall.Client
	arn    string
	limits limits
}

// newLambda sets no time limit on a request: it takes as long as the function,
// and Send's context ends it. Only a call that was throttled, and so did not
// run, is repeated here. One that may run yet would run twice at once; the
// consumer repeats it under its next claim.
func newLambda(target arn.ARN, l limits, transport http.RoundTripper) (*lambdaSink, error) {
	throttled := retry.RetryableErrorCode{Codes: map[string]struct{}{
		"TooManyRequestsException": {}, "EC2ThrottledException": {},
	}}
	client, err := awscall.New(awscall.Lambda, awscall.Options{
		Region: target.Region, Transport: transport,
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Retryables = []retry.IsErrorRetryable{throttled}
		}),
	})
	return &lambdaSink{arn: target.String(), limits: l, client: client}, err
}

// Send implements Sink.
func (s *lambdaSink) Send(ctx context.Context, b handoff.Batch) error {
	documents, err := documents(b, s.limits)
	if err != nil {
		return err
	}
	for _, document := range documents {
		if err := s.invoke(ctx, document); err != nil {
			return err
		}
	}
	return nil
}

// invoke calls the function once.
func (s *lambdaSink) invoke(ctx context.Context, document []byte) error {
	out, err := s.client.Invoke(ctx, s.arn, awscall.RequestResponse, document)
	switch {
	case err != nil:
		return fmt.Errorf("call %s: %w", s.arn, err)
	case out.FunctionError != "":
		return fmt.Errorf("%s failed: %s", s.arn, reason(out.FunctionError, out.Payload))
	case out.Status != http.StatusOK:
		return fmt.Errorf("call %s: status %d, not 200", s.arn, out.Status)
	}
	if err := readAnswer(out.Payload); err != nil {
		return fmt.Errorf("%s answered what is no answer: %w", s.arn, err)
	}
	return nil
}

// reason is what a failed function says: the type and the text of its error
// where it wrote them as Lambda's runtimes do.
func reason(kind string, payload []byte) string {
	var said struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(payload, &said) == nil && said.ErrorType+said.ErrorMessage != "" {
		return bounded(said.ErrorType + ": " + said.ErrorMessage)
	}
	return bounded(kind + ": " + string(payload[:min(len(payload), maxErrorText)]))
}

// readAnswer takes nothing, null or a JSON object. An object that lists failed
// items, as functions behind an event source answer, is no success either. Of
// the answer nothing is shown: it may have parts of a message in it.
func readAnswer(payload []byte) error {
	payload = bytes.TrimSpace(payload)
	switch {
	case len(payload) == 0 || string(payload) == "null":
		return nil
	case !json.Valid(payload):
		return fmt.Errorf("%d bytes that are not JSON; it must be null or a JSON object", len(payload))
	case payload[0] != '{':
		return errors.New("JSON that is neither null nor an object")
	}
	var said struct {
		Failures any `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(payload, &said); err != nil {
		return err
	}
	switch failures := said.Failures.(type) {
	case nil:
		return nil
	case []any:
		if len(failures) == 0 {
			return nil
		}
	}
	return errors.New("batchItemFailures, which is not read here: a function that cannot take the batch must fail")
}
