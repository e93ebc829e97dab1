package handoff

import (
	"context"
	"time"
)

// Store is the view that delivery has of its own tables. [Dynamo] is the real
// one, [Memory] the one for simulation; the tests of this package and package
// handofftest hold them to what is said here.
//
// Every method is exactly one request. Writes are atomic and durable when the
// method returns nil; reads are strong where nothing else is said. All methods
// may be called by any number of goroutines.
//
// A method that returns an error may have taken effect all the same, and a
// request may take effect twice (the SDK repeats one whose response is lost).
// So each write is made such that its second run changes nothing, and answers
// with the consumer that stands there afterwards (the zero Consumer where there
// is none) and with whether it stands there by this call's doing: the caller
// looks, then decides.
type Store interface {
	// CreateConsumer stores c if its queue has no consumer of its name.
	//
	// Lost response: the repeat finds our own LastOp and reports true. Another
	// did it first: theirs is returned, and false. We die right after: the
	// consumer is Starting, which whoever comes next goes on with.
	CreateConsumer(ctx context.Context, c Consumer) (Consumer, bool, error)

	// Consumer reads a consumer.
	Consumer(ctx context.Context, queue, name string) (Consumer, error)

	// Consumers reads the queue's consumers whose names come after `after`, in
	// the order of their names. next is empty after the last page.
	Consumers(ctx context.Context, queue, after string) (page []Consumer, next string, err error)

	// Claim makes a claim, if the consumer's token, state and place are as seen, it
	// is neither paused nor starting, and it is Idle or its lease is over before
	// now and it is not tracked. Taking a claim over makes the old one
	// Cancelled.
	//
	// Lost response: the repeat finds our own token and reports true. Another
	// did it first: theirs is returned, and false. We die right after: the
	// lease runs out, and whoever comes next takes over, or, where the claim is
	// tracked, asks its chain.
	Claim(ctx context.Context, seen Consumer, claim Claim) (Consumer, bool, error)

	// Block makes the consumer Blocked and uses its token up, under Claim's
	// condition.
	//
	// Lost response: the repeat fails and returns it Blocked, with the number
	// that we gave. Another did it first: theirs is returned. We die right
	// after: the sweep announces it.
	Block(ctx context.Context, seen Consumer, now time.Time) (Consumer, bool, error)

	// Commit ends the claim of a token: Delivered becomes its To.
	//
	// Lost response: the repeat fails and finds the token's outcome, which is
	// Committed: true. Another ended the claim: false. We die right after: what
	// came meanwhile has a record in the cursors' stream, or the sweep finds it.
	Commit(ctx context.Context, queue, name string, token Token) (Consumer, bool, error)

	// CommitAndClaim is Commit and Claim in one, of the range from the old
	// claim's To on, if the consumer is neither paused nor starting. The new
	// token has the old one's number and one.
	//
	// Lost response: the repeat finds the new token and reports true. Another
	// ended the claim, or it is paused: false. We die right after: as after
	// Claim.
	CommitAndClaim(ctx context.Context, queue, name string, token Token, claim Claim) (Consumer, bool, error)

	// Fail gives the claim of a token back.
	//
	// Lost response: the repeat fails; the token's outcome is Aborted, or the
	// consumer is Blocked under the next number: true. Another ended the
	// claim: false. We die right after: RetryAt or the operator decides.
	Fail(ctx context.Context, queue, name string, token Token, failure Failure) (Consumer, bool, error)

	// Cancel ends a claim that is not tracked and whose lease was over before
	// now; block makes the consumer Blocked and uses its token up. It does so
	// while it is paused too.
	//
	// Lost response: the repeat fails and returns what stands there. Another
	// did it first: the same. We die right after: the consumer is free.
	Cancel(ctx context.Context, seen Consumer, block bool, now time.Time) (Consumer, bool, error)

	// Unblock makes a Blocked consumer Idle if its token and Delivered are as
	// seen; skip moves Delivered over the message that blocks it.
	//
	// Lost response: the repeat fails and finds its own op: true. Another did
	// it first: false, and nothing is skipped twice. We die right after: the
	// sweep wakes the consumer up.
	Unblock(ctx context.Context, seen Consumer, skip bool, op string) (Consumer, bool, error)

	// Rewind sets a consumer to another place, if its token is as seen and no
	// claim is out. It is Starting then.
	//
	// Lost response, another did it first: as with Unblock. We die right
	// after: whoever comes next goes on with the start.
	Rewind(ctx context.Context, seen Consumer, delivered int64, op string) (Consumer, bool, error)

	// FinishStart ends the start of this op with the place that it came to.
	//
	// Lost response: the repeat fails, and the op is the last one and no
	// longer Starting: true. Another did it first: the same, at their place.
	// We die right after: the consumer is free.
	FinishStart(ctx context.Context, queue, name, op string, delivered int64) (Consumer, bool, error)

	// Pause keeps the consumer from making claims, with a reason; an empty
	// reason lets it go on. A claim that is out is not touched.
	//
	// Lost response, another did it first: the last one wins. We die right
	// after: nothing is left to do.
	Pause(ctx context.Context, queue, name, reason string, now time.Time) (Consumer, bool, error)

	// Remove deletes a consumer, if its token is as seen, no claim is out, and
	// none is quarantined.
	//
	// Lost response: the repeat finds none and reports true. Another did it
	// first: the same. We die right after: nothing is left to do.
	Remove(ctx context.Context, seen Consumer) (bool, error)

	twoPhase
	replying

	// RecordAct stores what an operator asks for, or how it ended.
	//
	// Lost response: the repeat stores the same. We die right after: the act
	// stands there as asked for, and its Op tells whether it was done.
	RecordAct(ctx context.Context, act Act) error

	// Acts reads what operators did to the queue's consumers, the latest
	// first. next is empty after the last page.
	Acts(ctx context.Context, queue, after string) (page []Act, next string, err error)
}

// Claim is what a claim asks for.
type Claim struct {
	// Req is what the claimer calls its request, 1 to 64 characters.
	Req string
	// To is the last seq of the range, which begins behind Delivered.
	To int64
	// Now is the claimer's clock, LeaseUntil when the claim may be taken over.
	Now, LeaseUntil time.Time
	// Tracked: the end of a chain ends the claim. The mark goes with the claim's
	// commit or failure.
	Tracked bool
}

// Failure is why a claim is given back.
type Failure struct {
	Error   string
	Now     time.Time
	RetryAt time.Time
	// Block makes the consumer Blocked.
	Block bool
}

// Act is what an operator did to a consumer, or asked for.
type Act struct {
	Queue    string
	Consumer string
	// At is when it was asked for, to the millisecond.
	At time.Time
	// Op is what the operator called it: the same Op is the same act.
	Op string
	// Kind is skip, redrive, rewind, pause, resume or remove.
	Kind string
	// Seq is the message that was skipped or redriven, or the place that was
	// gone back to; -1 where there is none.
	Seq    int64
	Reason string
	// Done tells that it was done, Error why it was not; neither stands there
	// while it is under way.
	Done  bool
	Error string
}
