package kind

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/streamsort/streamsort/internal/awscall"
)

// RefusedError is a message that a request's answer says was not taken.
type RefusedError struct {
	// Kind is the name of the sink's kind.
	Kind string
	// Seq is the message's.
	Seq int64
	Refusal
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s refused message %d: %s", e.Kind, e.Seq, Bounded(e.Code+": "+e.Message))
}

// IsAway reports whether an error of [Sink.Send] is the sink's, whatever the batch: it is
// throttled, has a fault of its own, cannot be reached, or did not answer in time. It is recognised
// by types, statuses and codes: words change. What a function says that has run is not among them,
// nor what only somebody who changes a configuration ends.
func IsAway(err error) bool {
	var refused *RefusedError
	var answer *awscall.Error
	var answered *AnswerError
	switch {
	case errors.As(err, new(*AwayError)):
		return true
	case errors.As(err, &answered):
		return slices.Contains(awayStatuses, answered.Status)
	case errors.As(err, &refused):
		return refused.Away || isThrottle(refused.Code)
	case errors.As(err, &answer):
		return answer.Status == http.StatusTooManyRequests ||
			answer.Status >= http.StatusInternalServerError || isThrottle(answer.Code)
	}
	return errors.As(err, new(*smithyhttp.RequestSendError))
}

// awayStatuses are those that say that the endpoint, or what stands before it, cannot take anything
// now. 500 is not among them: it may well be what a message does to it.
var awayStatuses = []int{http.StatusRequestTimeout, http.StatusTooEarly,
	http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout}

// AwayError is that a sink could not be asked, or did not answer: nothing of it is a message's.
type AwayError struct{ Err error }

func (e *AwayError) Error() string { return e.Err.Error() }

func (e *AwayError) Unwrap() error { return e.Err }

// CallError is why a call failed, with what was called, and the call's id there: its log has it.
type CallError struct {
	By, ID string
	Err    error
}

func (e *CallError) Error() string { return e.Err.Error() }

func (e *CallError) Unwrap() error { return e.Err }

// Called is what was called, and the call's id there.
func (e *CallError) Called() (by, id string) { return e.By, e.ID }

// AnswerError is what an HTTP endpoint answered that is no success.
type AnswerError struct {
	// Host is who answered.
	Host   string
	Status int
	// Took is how long the answer took.
	Took time.Duration
	// Text is the beginning of the answer's body.
	Text string
	// RetryAt is when it asks to be tried again; the zero time where it does not say.
	RetryAt time.Time
	// Own says that the endpoint is the tenant's own, which may read what it said.
	Own bool
}

func (e *AnswerError) Error() string {
	if e.Text == "" {
		return e.head()
	}
	return e.head() + ": " + Bounded(e.Text)
}

// Shown is what a tenant may read of the error, with its text where the endpoint is its own.
func (e *AnswerError) Shown() string {
	if e.Own {
		return e.Error()
	}
	return e.head()
}

func (e *AnswerError) head() string {
	said := fmt.Sprintf("%s answered %d in %d ms", e.Host, e.Status, e.Took.Milliseconds())
	if e.Status >= 300 && e.Status <= 399 {
		said += " (a redirect, which is not followed)"
	}
	return said
}

// Called is what was called; the endpoint gave the call no id.
func (e *AnswerError) Called() (by, id string) { return e.Host, "" }

// Final reports whether the status says that the same request will never be taken: it is about the
// message. The others of 4xx are as likely about the endpoint, or the credentials: 404 is what a
// deployment answers for seconds.
func (e *AnswerError) Final() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusUnprocessableEntity
}

// isThrottle reports whether a code of an answer asks to slow down: one that the SDK knows, one of
// SNS, or one of KMS, which throttles for who writes what it encrypts.
func isThrottle(code string) bool {
	switch code {
	case "Throttled", "KmsThrottled", "KMS.ThrottlingException", "KMSThrottling",
		"KMSThrottlingException":
		return true
	}
	_, is := retry.DefaultThrottleErrorCodes[code]
	return is
}
