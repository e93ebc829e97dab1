package ddb

import (
	"errors"
	"fmt"
)

var (
	// ErrThrottled: DynamoDB throttled the request, and all of the SDK's repeats of it.
	ErrThrottled = errors.New("throttled")
	// ErrUnavailable: no answer, or a fault of the server. The request may have taken effect.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge: the item is over 400 KB.
	ErrTooLarge = errors.New("item too large")
	// ErrNoTable: the table does not exist.
	ErrNoTable = errors.New("no such table")
	// ErrInvalid: the request is one that DynamoDB refuses: a mistake in the program.
	ErrInvalid = errors.New("invalid request")
)

func invalidf(format string, arguments ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, arguments...))
}
