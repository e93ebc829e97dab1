package dedup

import (
	"time"
)

// Row is what is stored under a key. Times are stored to the millisecond.
type Row struct {
	Key
	// Fence rises with every claim and every repair, and never falls: of two claims, the later one
	// has the higher fence. It begins at the clock's milliseconds, so that it goes on rising after
	// a row was deleted.
	Fence int64 `ddb:"fence"`
	// Attempt counts the claims of this life of the row, from 1.
	Attempt int64 `ddb:"attempt"`
	Token   Token `ddb:"token"`
	// StartedAt is when the last claim was made, LeaseUntil when it ends: zero time (1970) where it
	// was given back.
	StartedAt  time.Time `ddb:"startedAt"`
	LeaseUntil time.Time `ddb:"leaseUntil"`
	// ValidUntil is when the row counts as not there: zero time (1970) where it was invalidated.
	ValidUntil time.Time `ddb:"validUntil"`
	// ExpiresOn is when TTL may delete it, in whole seconds. It is later than ValidUntil.
	ExpiresOn time.Time `ddb:"expiresOn,omitzero,s"`
	// Payload is the hash of what came with the id, nil where nothing did.
	Payload []byte `ddb:"payloadHash,omitzero"`
	// CompletedAt is the zero Time until the effect is done.
	CompletedAt time.Time `ddb:"completedAt,omitzero"`
	// Failed: the effect is done in that it failed, and its error is remembered.
	Failed bool `ddb:"failed,omitzero,is=1"`
	// Error is the remembered error, or the last attempt's.
	Error  string `ddb:"error,omitzero"`
	Result Result `ddb:",inline"`
	// Repair is the last thing that an operator did, the zero Repair where nobody did anything.
	Repair Repair `ddb:",inline"`
}

// Place is where a result is.
type Place string

const (
	InRow   Place = ""        // in the row
	InItem  Place = "item"    // in an item of its own
	Omitted Place = "omitted" // nowhere: it was too large
)

// Result is what is remembered of a result.
type Result struct {
	// Bytes are the encoded result; nil in a row whose result is elsewhere.
	Bytes []byte `ddb:"result,omitzero"`
	// Codec is how Bytes are made: "json", or "json+zstd" where they were compressed.
	Codec string `ddb:"codec,omitzero"`
	Place Place  `ddb:"resultIn,omitzero"`
}

// Repair is an operator's release of a row.
type Repair struct {
	By     string    `ddb:"repairedBy,omitzero"`
	Reason string    `ddb:"reason,omitzero"`
	At     time.Time `ddb:"repairedAt,omitzero"`
}

// longAgo is a time that is over by every clock.
var longAgo = time.UnixMilli(0).UTC()

// Exists reports whether there is a row.
func (r Row) Exists() bool { return r.ID != "" }

// Status is the state of a key.
type Status string

// The states. The package comment draws them.
const (
	NotStarted  Status = "not started" // no row
	Running     Status = "running"     // claimed, and the lease is not over
	Completed   Status = "completed"
	TimedOut    Status = "timed out"   // claimed, and the lease is over: the next one takes it
	Failed      Status = "failed"      // given back after an error: the next one takes it
	Quarantined Status = "quarantined" // claimed as often as it may be: an operator releases it
	Expired     Status = "expired"     // as if there were no row
)

func (r Row) expired(now time.Time) bool { return !r.ValidUntil.After(now) }

// completed reports whether the effect is done, with a result or an error.
func (r Row) completed() bool { return !r.CompletedAt.IsZero() }

// givenBack reports whether the owner, or an operator, has ended the lease.
func (r Row) givenBack() bool { return r.LeaseUntil.Equal(longAgo) }

// asCompleted is the row when its effect is done, and no error is left.
func (r Row) asCompleted(now, validUntil, expiresOn time.Time) Row {
	r.CompletedAt, r.ValidUntil, r.ExpiresOn, r.Error = now, validUntil, expiresOn, ""
	return r
}

// running reports whether nobody else may claim the row yet: its lease is over only after the
// margin by which clocks may differ.
func (r Row) running(now time.Time, margin time.Duration) bool {
	return r.LeaseUntil.After(now.Add(-margin))
}

func (r Row) status(now time.Time, margin time.Duration, maxAttempts int64) Status {
	switch {
	case !r.Exists():
		return NotStarted
	case r.expired(now):
		return Expired
	case r.completed():
		return Completed
	case r.running(now, margin):
		return Running
	case maxAttempts > 0 && r.Attempt >= maxAttempts:
		return Quarantined
	case r.givenBack():
		return Failed
	}
	return TimedOut
}
