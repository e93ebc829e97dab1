package cursor

import (
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// What a store can fail with, beside the error of an ended context. All of them mean that the
// caller may repeat the operation: it takes up what the failed one left.
var (
	// ErrThrottled: DynamoDB asks to slow down, or too many give places in one keyed queue. Nothing
	// is known to be written.
	ErrThrottled = ddb.ErrThrottled
	// ErrUnavailable: no answer, or a fault of the server. The request may have taken effect all
	// the same.
	ErrUnavailable = ddb.ErrUnavailable
)

var (
	// ErrNoQueue: the queue has no cursor: nothing was ever put to it.
	ErrNoQueue = errors.New("no such queue")
	// ErrFixed: the first seq, the kind and the key type of a queue are fixed when it is created.
	// The error is an InvalidError, whose Field names the setting.
	ErrFixed = errors.New("a setting of the queue cannot be changed")
	// ErrExpired: an arrival that was stored before was deleted while it was to get its place.
	ErrExpired = errors.New("the arrival expired")
)

// InvalidError is an input that can never be accepted: which field, in which of the messages or
// arrivals, and why.
type InvalidError = invalid.Error

// MissingError is a seq at or under a queue's position at which nothing is stored: what was there
// has been deleted, by the retention or by hand. A reader stops there. Stepping over it would turn
// a loss into silence.
type MissingError struct {
	Queue string
	Seq   int64
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("queue %q: seq %d is at or under the position, but not stored", e.Queue, e.Seq)
}
