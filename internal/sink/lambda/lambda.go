// Package lambda is the kind of sink that is a Lambda function, called synchronously.
package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/reply"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Kind is a Lambda function.
var Kind = kind.Resource{
	Name: "lambda", Looks: "arn:aws:lambda:REGION:ACCOUNT:function:NAME",
	Action: "lambda:InvokeFunction",
	// "Invoke", AWS Lambda API Reference. A request has one document.
	Bytes: 6 << 20, MaxBytes: 6 << 20,
	Open: open,
}.Kind()

type function struct {
	client *awscall.Client
	arn    string
	limits kind.Limits
}

// open sets no time limit on a request: it takes as long as the function, and Send's context ends
// it. Only a call that was throttled, and so did not run, is repeated here. One that may run yet
// would run twice at once; the consumer repeats it under its next claim.
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

func (s *function) Send(ctx context.Context, b delivery.Batch) error {
	documents, err := Documents(b, s.limits)
	if err != nil {
		return err
	}
	for _, d := range documents {
		payload, err := s.invoke(ctx, d.JSON)
		if err != nil {
			return delivery.DoneUpTo(err, d.From) // the documents before were taken
		}
		replies, deferred, upTo, err := readAnswer(payload, d.From, d.To)
		if err != nil {
			return delivery.DoneUpTo(fmt.Errorf("%s answered what is no answer: %w", s.arn, err), d.From)
		}
		if len(replies) > 0 {
			err = b.Reply(replies...)
		}
		if err == nil && upTo < d.To {
			err = delivery.DoneUpTo(fmt.Errorf("%s took its document up to %d", s.arn, upTo), upTo)
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

func (s *function) invoke(ctx context.Context, document []byte) ([]byte, error) {
	out, err := s.client.Invoke(ctx, s.arn, awscall.RequestResponse, document)
	switch {
	case err != nil:
		err = fmt.Errorf("call %s: %w", s.arn, err)
	case out.FunctionError != "":
		err = fmt.Errorf("%s failed: %s", s.arn, reason(out.FunctionError, out.Payload))
	case out.Status != http.StatusOK:
		err = fmt.Errorf("call %s: status %d, not 200", s.arn, out.Status)
	default:
		return out.Payload, nil
	}
	return nil, &kind.CallError{By: s.arn, ID: out.RequestID, Err: err}
}

// reason is what a failed function says: the type and the text of its error where it wrote them as
// Lambda's runtimes do.
func reason(failure string, payload []byte) string {
	var said struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(payload, &said) == nil && said.ErrorType+said.ErrorMessage != "" {
		return kind.Bounded(said.ErrorType + ": " + said.ErrorMessage)
	}
	return kind.Bounded(failure + ": " + string(payload[:min(len(payload), kind.MaxErrorText)]))
}

// readAnswer takes nothing, null or a JSON object, and returns the replies of its member "replies",
// its member "deferSeconds", and up to which seq of its document, behind from and up to to, the
// function took it: see [UpTo]. Nothing of the answer is shown: it may have parts of a message in
// it.
func readAnswer(payload []byte,
	from, to int64) (replies []delivery.Reply, deferred string, upTo int64, err error) {
	payload = bytes.TrimSpace(payload)
	switch {
	case len(payload) == 0 || string(payload) == "null":
		return nil, "", to, nil
	case !json.Valid(payload):
		return nil, "", 0,
			fmt.Errorf("%d bytes that are not JSON; it must be null or a JSON object", len(payload))
	case payload[0] != '{':
		return nil, "", 0, errors.New("JSON that is neither null nor an object")
	}
	members, err := answerOf(payload)
	if err == nil {
		upTo, err = members.upTo(from, to)
	}
	if err == nil && !isNull(members["replies"]) {
		replies, err = reply.Read(members["replies"])
	}
	return replies, string(members["deferseconds"]), upTo, err
}

// answer is the members of an answer that count, by their names in small letters.
type answer map[string]json.RawMessage

// answerOf reads an answer's members, in capitals or not. One that stands twice is refused, as
// everywhere here.
func answerOf(payload []byte) (answer, error) {
	twice := errors.New("an object that has a member twice: nobody can tell which of the two counts")
	members, err := strictjson.Members(payload)
	if err != nil {
		// It is an object, so that nothing else is wrong with it.
		return nil, twice
	}
	a := answer{}
	for _, m := range members {
		switch name := strings.ToLower(m.Name); name {
		case "replies", "done", "batchitemfailures", "deferseconds":
			if _, known := a[name]; known {
				return nil, twice
			}
			a[name] = m.Value
		}
	}
	return a, nil
}

func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// UpTo is up to which seq an endpoint took a document, behind from and up to to, by what it
// answered: "done" is the last seq that it took, "batchItemFailures" names those that it did not,
// of which the first counts. What is no JSON object, or has neither, says that all is taken. A
// "done" that is neither a number nor a seq is the endpoint's own.
func UpTo(text []byte, from, to int64) (int64, error) {
	// a byte order mark
	text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\ufeff")))
	if !json.Valid(text) || text[0] != '{' {
		return to, nil
	}
	members, err := answerOf(text)
	if err != nil {
		return 0, err
	}
	if raw := members["done"]; raw != nil && !strings.ContainsRune("-0123456789", rune(raw[0])) {
		if _, err := jsonseq.Read(raw); err != nil {
			delete(members, "done")
		}
	}
	return members.upTo(from, to)
}

func (a answer) upTo(from, to int64) (int64, error) {
	upTo := to
	if raw := a["done"]; !isNull(raw) {
		seq, err := jsonseq.Read(raw)
		// behind which the first message may be 0
		if err != nil && string(raw) != strconv.FormatInt(from, 10) {
			return 0, fmt.Errorf("done, which must be the last seq that was taken, from %d to %d", from, to)
		}
		if err != nil {
			seq = from
		}
		if seq < from || seq > to {
			return 0, fmt.Errorf("that it is done up to %d, which must be from %d to %d", seq, from, to)
		}
		upTo = seq
	}
	var failures []struct {
		Item json.RawMessage `json:"itemIdentifier"`
	}
	if raw := a["batchitemfailures"]; !isNull(raw) && json.Unmarshal(raw, &failures) != nil {
		return 0, errors.New("batchItemFailures, which must be a list of {\"itemIdentifier\": SEQ}")
	}
	for _, f := range failures {
		seq, err := jsonseq.Read(f.Item)
		if err != nil {
			return 0,
				fmt.Errorf("batchItemFailures with an itemIdentifier that is no seq from %d to %d", from+1, to)
		}
		if seq <= from || seq > to {
			return 0, fmt.Errorf("batchItemFailures with the itemIdentifier %d, which must be from %d to %d",
				seq, from+1, to)
		}
		upTo = min(upTo, seq-1)
	}
	return upTo, nil
}
