package dedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// What a store can fail with, beside the error of an ended context. The request may have taken
// effect where it says so; the same call may be made again.
var (
	// ErrThrottled: DynamoDB asks to slow down. Nothing is known to be written.
	ErrThrottled = ddb.ErrThrottled
	// ErrUnavailable: no answer, or a fault of the server. The request may have taken effect all
	// the same.
	ErrUnavailable = ddb.ErrUnavailable
)

var (
	// ErrLeaseOver is the cause with which the context of an effect ends when its lease does: from
	// then on another one may run.
	ErrLeaseOver = errors.New("the lease is over")
	// ErrEnded: the attempt was ended before, in another way.
	ErrEnded = errors.New("the attempt has ended already")
	// ErrNoTime: the caller's deadline is nearer than 510 ms, and Options.Lease is 0: no lease
	// would be left. It is found before the claim, so it may be the answer to a duplicate as well.
	ErrNoTime = errors.New("the deadline is too near to start")
)

// InvalidError is an input or an option that can never be accepted: which field, and why.
type InvalidError = invalid.Error

// missing is the error of something that must be given and is nil.
func missing(field string) error {
	return invalid.New(invalid.Missing, field, "must not be nil")
}

// StillRunningError says that another caller holds the key, and the wait for it is over. The effect
// was not run. The same call may be made again after Until.
type StillRunningError struct {
	Key Key
	// Until is when the owner's lease ends, by the owner's clock.
	Until time.Time
	// Cause is the error of the context, where that ended the wait; or nil.
	Cause error
}

func (e *StillRunningError) Error() string {
	return fmt.Sprintf("%s: still running, until %s at the latest", e.Key,
		e.Until.Format(time.RFC3339Nano))
}

// Unwrap returns Cause.
func (e *StillRunningError) Unwrap() error { return e.Cause }

// PayloadMismatchError says that the id was used before, with another payload. The effect was not
// run.
type PayloadMismatchError struct{ Key Key }

func (e *PayloadMismatchError) Error() string {
	return fmt.Sprintf("%s: the id was used with another payload", e.Key)
}

// QuarantinedError says that the effect was begun as often as it may be and never completed. It is
// not run again until an operator releases the key.
type QuarantinedError struct {
	Key      Key
	Attempts int64
	// Last is the error of the last attempt; empty where it ended without one.
	Last string
}

func (e *QuarantinedError) Error() string {
	text := fmt.Sprintf("%s: quarantined after %d attempts", e.Key, e.Attempts)
	if e.Last != "" {
		text += ": " + e.Last
	}
	return text
}

// LostError says that the claim is not this caller's any more. Its lease was over and another took
// the key, or an operator released it. What this caller did has happened; nothing of it is
// remembered.
type LostError struct {
	Key Key
	// Attempt and Fence are those of the lost claim.
	Attempt, Fence int64
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s: the claim of attempt %d is lost to another", e.Key, e.Attempt)
}

// RememberedError is the error of an earlier run, where errors of its kind are remembered. The
// effect was not run again.
type RememberedError struct {
	Key     Key
	Message string
}

func (e *RememberedError) Error() string { return e.Message }

// NotRememberedError says that the effect ran and succeeded, and that could not be stored. It runs
// again after the lease.
type NotRememberedError struct {
	Key Key
	Err error
}

func (e *NotRememberedError) Error() string {
	return fmt.Sprintf("%s: the effect ran, and its result could not be remembered: %v", e.Key, e.Err)
}

// Unwrap returns Err.
func (e *NotRememberedError) Unwrap() error { return e.Err }

// ForgetError is what an effect fails with that is to run again with the next call, whatever
// Options.OnError would say.
type ForgetError struct{ Reason string }

func (e *ForgetError) Error() string { return e.Reason }

// RowError says that what is stored under a key cannot be read: an attribute is missing or not what
// it must be, or the result no longer decodes. Nothing is run for such a key.
type RowError struct {
	Key Key
	// Field is the attribute, by its name in the package comment.
	Field string
	Err   error
}

func (e *RowError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Key, e.Field, e.Err) }

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

// String names a key in messages.
func (k Key) String() string { return fmt.Sprintf("%q of processor %q", k.ID, k.Processor) }
