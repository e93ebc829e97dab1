package delivery

// Outcome is how a delivery, or a call of [Claims], ended. Each is an answer and no error. What
// tells two of one outcome apart is the Reason beside it.
type Outcome string

// [Blocked], [InDoubt] and [Committed] are outcomes too. InDoubt: the claim was prepared, and only
// the consumer's database knows how it ended: settle it. Its Reason is PREPARED, IN_DOUBT or
// QUARANTINED. Committed: the claim was committed, so nothing else can be done to it.
const (
	// OK: it is done, or was done before.
	OK Outcome = "OK"
	// Empty: nothing waits up to the position.
	Empty Outcome = "EMPTY"
	// Wait: there is more, and it comes later. The Reason is FAILED: the messages failed, and are
	// tried again at a time; CIRCUIT: the sink is away, as other queues found; TIME: the time is
	// up; ISOLATED: it would hold up other queues, and is delivered by an isolated invocation.
	Wait Outcome = "WAIT"
	// Busy: a claim is in flight. The Reason is STARTED where that is the caller's own, which is
	// not prepared, and not deferred or not yet.
	Busy Outcome = "BUSY"
	// Deferred: a batch was handed over, and the chain of its work, or a worker that has the token,
	// commits it or aborts it, and nothing else does.
	Deferred = "DEFERRED"
	// Paused: an operator paused the consumer, or it is being set up.
	Paused Outcome = "PAUSED"
	// Missing: the next message is not stored any more. Nothing is stepped over: an operator has to
	// set the consumer behind the loss.
	Missing Outcome = "MISSING"
	// Full: a queue that the replies go to is full. The claim is as it was: a commit is to be
	// repeated, and what was pushed is finished by the next delivery, or by the sweep.
	Full Outcome = "FULL"
	// Lost: the claim is not the caller's any more, and what was done under it may be done again.
	// The Reason is ABORTED or CANCELLED; FORGOTTEN, where it ended too long ago to say how;
	// FOREIGN, where no claim was ever given the token.
	Lost Outcome = "LOST"
)

// Reasons of [Wait].
const (
	reasonFailed   = "FAILED"
	reasonCircuit  = "CIRCUIT"
	reasonTime     = "TIME"
	reasonIsolated = "ISOLATED"
)

// standing is what a claim is at, or how it ended: an outcome, or one of these.
type standing string

const (
	// notPrepared: the claim was not prepared, and is not deferred, or not yet.
	notPrepared standing = "STARTED"
	// unsettled: the claim is in quarantine, and is not settled.
	unsettled standing = "QUARANTINED"
	// forgotten: the claim has ended, too long ago to say how.
	forgotten standing = "FORGOTTEN"
	// foreign: no claim was ever given this token.
	foreign standing = "FOREIGN"
)

// outcome is what is answered of a claim that is at something.
func (s standing) outcome() (Outcome, string) {
	switch s {
	case notPrepared:
		return Busy, string(s)
	case Prepared, InDoubt, unsettled:
		return InDoubt, string(s)
	case Aborted, Cancelled, forgotten, foreign:
		return Lost, string(s)
	}
	return Outcome(s), ""
}
