package delivery

// Ended is how a delivery ended. All of them are answers, not errors.
type Ended string

const (
	// EndedCaughtUp: everything up to the position is handed on.
	EndedCaughtUp Ended = "CAUGHT_UP"
	// EndedBusy: another has a claim in flight. It looks again when it has committed.
	EndedBusy Ended = "BUSY"
	// EndedOutOfTime: there is more, and the time is up.
	EndedOutOfTime Ended = "OUT_OF_TIME"
	// EndedFailed: the handler failed. It is tried again, from RetryAt on.
	EndedFailed Ended = "FAILED"
	// EndedWait: it failed before, and RetryAt has not come.
	EndedWait Ended = "WAIT"
	// EndedBlocked: it failed as often as it may, by no fault of its sink, and waits for an
	// operator.
	EndedBlocked Ended = "BLOCKED"
	// EndedCircuitOpen: its sink is away, as other queues found. It is woken up when the sink
	// is back.
	EndedCircuitOpen Ended = "CIRCUIT_OPEN"
	// EndedPaused: an operator paused it.
	EndedPaused Ended = "PAUSED"
	// EndedReplying: the replies of the last claim cannot be stored yet, because a
	// queue that they go to is full. They are tried again by the next delivery,
	// and by the sweep; nothing else is handed on before.
	EndedReplying Ended = "REPLYING"
	// EndedMissing: the next message is not stored any more. Nothing is stepped
	// over: an operator has to set the consumer behind the loss.
	EndedMissing Ended = "MISSING"
	// EndedLost: the claim was taken over, or ended by an operator, while the
	// handler was at it. What it did may be done again.
	EndedLost Ended = "LOST"
	// EndedDeferred: a batch was handed over, and the chain of its work, or a worker, commits it.
	// What comes behind it is delivered after that.
	EndedDeferred Ended = "DEFERRED"
	// EndedAside: it would hold up queues that are delivered beside it, and is delivered by a call of its own.
	EndedAside Ended = "ASIDE"
	// EndedErased: the queue was erased.
	EndedErased Ended = "ERASED"
)

// Delivery is what became of a queue for one consumer.
type Delivery struct {
	Queue, Consumer string
	Ended           Ended
	// Record is the consumer as it was last seen.
	Record Consumer
	// Batches, Messages and Skipped are what was handed on and committed.
	Batches, Messages, Skipped int
	// Deferred is how many batches were handed over that are not yet committed: the chains of
	// their work, or workers, commit them.
	Deferred int
	// Cause is why the handler failed, or which message is missing.
	Cause error
	// Err is why the delivery could not go on: the store failed. What was
	// committed stays so, and the next call goes on.
	Err error
}
