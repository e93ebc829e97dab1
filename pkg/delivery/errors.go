package delivery

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// What a store does not answer is [cursor.ErrThrottled] or [cursor.ErrUnavailable].
var (
	// ErrNoConsumer: the queue has no consumer of this name.
	ErrNoConsumer = errors.New("no such consumer")
	// ErrUnreadable: an item is not ours, or one that a newer version wrote.
	ErrUnreadable = errors.New("it cannot be read")
)

// RefusedError is why something was not done, as its consumer is now.
type RefusedError struct {
	// Code is one of these words:
	//   - not-blocked: the message at the head did not fail, or only with others: there is nothing to
	//     skip or to redrive;
	//   - claimed: a claim is in flight, and the order has to wait for its end;
	//   - quarantined: a claim is in quarantine, and has to be settled, or released, first;
	//   - not-quarantined: no claim of this token is in quarantine, or it is settled otherwise;
	//   - id-taken: the queue has another operation of this id, or this one with something else asked
	//     for;
	//   - outran: somebody else changed the consumer at the same moment; look, and decide again;
	//   - full: a queue that the replies of a claim go to is full, and they wait.
	Code string
	// Until is when the claim that is in flight ends at the latest.
	Until time.Time
	why   string
}

func (e *RefusedError) Error() string { return e.why }

// The refusals that say nothing more.
var (
	errNotBlocked     = refusal("not-blocked", "the message at the consumer's head did not fail, or not since its redrive: look again after its next failure")
	errQuarantined    = refusal("quarantined", "the consumer has a claim in quarantine")
	errNotQuarantined = refusal("not-quarantined", "no such claim is in quarantine: a process of the consumer settles one in doubt, or it goes there after settleWithin")
	errIDTaken        = refusal("id-taken", "the id is that of another operation")
	errOutran         = refusal("outran", "the consumer was changed meanwhile")
	errFull           = refusal("full", "a queue that the replies go to is full")
)

func refusal(code, why string) error { return &RefusedError{Code: code, why: why} }

// inFlight is the refusal of what waits for a claim's end.
func inFlight(c Consumer) error {
	return &RefusedError{Code: "claimed", Until: c.LeaseUntil,
		why: "the consumer has a claim in flight until " + c.LeaseUntil.Format("15:04:05.000")}
}

// failedTogether is the refusal to skip a message that may be a good one.
func failedTogether(c Consumer) error {
	return &RefusedError{Code: "not-blocked", why: fmt.Sprintf(
		"message %d failed only with others up to %d, and may be a good one: its next tries find the bad one, and redrive has it tried now", c.Delivered+1, c.To)}
}

// marked is an error of a handler that says more by its type.
type marked struct{ error }

func (m marked) Unwrap() error { return m.error }

// permanent marks an error that no repeat can repair.
type permanent struct{ marked }

// Permanent marks what a handler returns as an error that no repeat can repair, such as a message
// that is larger than what its sink takes. The consumer is blocked as soon as the message is alone,
// not only after all attempts.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{marked{err}}
}

// sinkAway marks an error that is not the batch's.
type sinkAway struct{ marked }

// SinkAway marks what a handler returns as an error that says nothing of the batch: its sink is
// throttled, or cannot be reached. The batch comes again as it was, and the try is not counted,
// however often that is so.
func SinkAway(err error) error {
	if err == nil {
		return nil
	}
	return sinkAway{marked{err}}
}

// doneUpTo marks an error with the seq up to which the batch is done.
type doneUpTo struct {
	marked
	seq int64
}

// UpTo is the seq, for tests of sinks.
func (d doneUpTo) UpTo() int64 { return d.seq }

// DoneUpTo marks what a handler returns with the seq up to which its batch is done nevertheless:
// that part is committed, and what is behind it comes again. It counts for nothing where the batch
// has replies, or is tracked: these are committed as a whole, or not at all; nor where the seq is
// not in the batch, or its last one.
func DoneUpTo(err error, seq int64) error {
	if err == nil {
		return nil
	}
	return doneUpTo{marked{err}, seq}
}

// passed is how many seqs of a batch are done although it failed.
func (b Batch) passed(cause error) int64 {
	var d doneUpTo
	replies, refused := b.Replies()
	if !errors.As(cause, &d) || d.seq <= b.From || d.seq >= b.To || len(b.Edges) > 0 ||
		len(replies) > 0 || refused != nil {
		return 0
	}
	return d.seq - b.From
}

func (b Batch) upTo(seq int64) Batch {
	b.To = seq
	behind := func(m cursor.Message) bool { return m.Seq > seq }
	if i := slices.IndexFunc(b.Messages, behind); i >= 0 {
		b.Messages = b.Messages[:i]
	}
	if i := slices.IndexFunc(b.Skipped, func(skipped int64) bool { return skipped > seq }); i >= 0 {
		b.Skipped = b.Skipped[:i]
	}
	return b
}

// notYet marks an error with the time of the next try.
type notYet struct {
	marked
	at time.Time
}

// maxNotBefore is how far ahead the time of [NotBefore] is at most.
const maxNotBefore = time.Hour

// NotBefore marks what a handler returns with the time before which its sink asks not to be tried
// again, such as Retry-After of HTTP says. A batch waits until then where the schedule would try it
// sooner, an hour at most. It changes nothing of what else the error says, and counts for nothing
// beside [Permanent].
func NotBefore(err error, at time.Time) error {
	if err == nil {
		return nil
	}
	return notYet{marked{err}, at}
}

// notSooner is when a batch is tried again that failed so, where the schedule has it tried at a
// time.
func notSooner(cause error, scheduled, now time.Time) time.Time {
	var n notYet
	if last := now.Add(maxNotBefore); errors.As(cause, &n) && n.at.After(scheduled) {
		if n.at.After(last) {
			return last
		}
		return n.at
	}
	return scheduled
}

// slowError marks the error of a batch that was ended because it took longer than it may beside
// others. It says nothing of the batch, nor of its sink.
type slowError struct{ marked }

func isA[E error](err error) bool {
	_, wraps := errors.AsType[E](err)
	return wraps
}
