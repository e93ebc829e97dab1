package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Translate adds to an error of the SDK the one of package ddb that says what it means, if there is
// one; the SDK's stays inside. The error of an ended context stays as it is. nil stays nil.
func Translate(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		// http.Client has given up by its own time-out, which says of itself that it is the end of
		// a context.
		return fmt.Errorf("%w: %s", ddb.ErrUnavailable, err.Error())
	}
	if kind := kindOf(err); kind != nil {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

func kindOf(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException",
			"LimitExceededException":
			return ddb.ErrThrottled
		case "ResourceNotFoundException":
			return ddb.ErrNoTable
		case "ValidationException":
			if strings.Contains(strings.ToLower(api.ErrorMessage()), "item size") {
				return ddb.ErrTooLarge
			}
			return ddb.ErrInvalid
		}
	}
	var response *awshttp.ResponseError
	var network net.Error
	var operation *smithy.OperationError
	switch {
	case errors.As(err, &response) && response.HTTPStatusCode() >= 500:
		return ddb.ErrUnavailable
	case errors.As(err, &network):
		return ddb.ErrUnavailable
	case api == nil && errors.As(err, &operation):
		// The SDK gave up without an answer that says why.
		return ddb.ErrUnavailable
	}
	return nil
}
