package kind

import (
	"errors"
	"fmt"
	"net/http"

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
// throttled, has a fault of its own, cannot be reached, or did not answer in time. It is told by
// types, statuses and codes: words change. What a function says that has run is not among them,
// nor what only somebody who changes a configuration ends.
func IsAway(err error) bool {
	var refused *RefusedError
	var answer *awscall.Error
	var unsent *smithyhttp.RequestSendError
	switch {
	case errors.As(err, &refused):
		return refused.Away || isThrottle(refused.Code)
	case errors.As(err, &answer):
		return answer.Status == http.StatusTooManyRequests || answer.Status >= http.StatusInternalServerError || isThrottle(answer.Code)
	}
	return errors.As(err, &unsent)
}

// isThrottle reports whether a code of an answer asks to slow down: one that the SDK knows, one
// of SNS, or one of KMS, which throttles for who writes what it encrypts.
func isThrottle(code string) bool {
	switch code {
	case "Throttled", "KmsThrottled", "KMS.ThrottlingException", "KMSThrottling", "KMSThrottlingException":
		return true
	}
	_, is := retry.DefaultThrottleErrorCodes[code]
	return is
}
