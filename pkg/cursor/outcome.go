package cursor

import "time"

// Outcome is the result of a message. All of them are answers, not errors.
type Outcome string

const (
	// Advanced: stored, and the position is at or past it.
	Advanced Outcome = "advanced"
	// Parked: stored, and it waits for messages before it.
	Parked Outcome = "parked"
	// Stored: stored, and somebody else moves the cursor: the stream's handler in asynchronous
	// mode, or after a move of ours failed (Result.Deferred).
	Stored Outcome = "stored"
	// Duplicate: the very same message was stored before.
	Duplicate Outcome = "duplicate"
	// Conflict: another message was stored under this seq, or under its id, before; that one stays.
	Conflict Outcome = "conflict"
	// Late: a tombstone took the place: the seq was skipped.
	Late Outcome = "late"
	// Stale: the position is past the seq and nothing is stored there any more, or the seq lies
	// before the queue's first. In other queues: the message was stored before, and what the queue
	// knew of it is gone.
	Stale Outcome = "stale"
	// Full: the seq is farther beyond the position than MaxAhead allows. Nothing was stored; try
	// again when the queue has moved on. In other queues: no seq is left.
	Full Outcome = "full"
	// Ahead: the queue is in arrival order, and its position is not right before the seq. Nothing
	// was stored; go on from Result.New.
	Ahead Outcome = "ahead"
	// Waiting: stored in a keyed queue, and it gets its place when its settle window is over.
	Waiting Outcome = "waiting"
	// Dropped: stored too late in a keyed queue that drops such. It took a seq, which readers step
	// over.
	Dropped Outcome = "dropped"
)

// Durable reports whether the message given is known to be stored.
func (o Outcome) Durable() bool {
	return o == Advanced || o == Parked || o == Stored || o == Duplicate || o == Waiting
}

// Result is the answer for one message of a put.
type Result struct {
	Queue string
	// Seq is the message's place: its own, or the one that the queue gave it; NoSeq where it has
	// none yet, or none is known.
	Seq     int64
	Outcome Outcome
	// Old and New are the queue's position before and after this call moved it: every seq with Old
	// < seq <= New is stored and in order. They are equal where this call moved nothing. Another
	// writer may have made a part of the way in between; Moves has what was this call's own.
	Old, New int64
	// MaxAhead is the queue's, beside Full: how far beyond New a seq may be.
	MaxAhead int64
	// First is the queue's, beside Stale, beside Parked while the queue has not begun, and where it
	// is NoQueue: nothing before it is taken.
	First int64
	// NoQueue reports that the message was refused, and that the queue, which would have First, was
	// not made for it.
	NoQueue bool
	// Moves are the moves that this call made. Each seq is in the moves of one call; of two where
	// the response to a move was lost and another call had the same move in hand. In the cursor's
	// stream, each is in exactly one.
	Moves []Range
	// Deferred says why the cursor was not moved as far as what is stored reaches: beside Stored,
	// or beside Duplicate and others, whose first writer may have died. The stream's handler or the
	// sweep makes up for it.
	Deferred error

	// What only messages of a keyed queue have:

	// SettlesAt is when the message is given its place at the latest, beside Waiting, and beside
	// Duplicate where it still waits.
	SettlesAt time.Time
	// Late reports that a message with a greater key had its place before, Unlinked that it stands
	// behind another one than its Prev.
	Late, Unlinked bool
	// Placed reports that this call gave the message its place, and no settler: who counts what is
	// late counts it then.
	Placed bool
	// ClockAhead reports that a time in its key was too far ahead, and the time of receipt is there
	// instead.
	ClockAhead bool

	// Err says why the message's fate is unknown; Outcome is empty then. Repeating the put is safe.
	// An InvalidError means that it was not stored: it is out of its bounds, or its queue is of
	// another kind.
	Err error
}
