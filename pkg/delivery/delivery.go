package delivery

// Delivery is what became of a queue for one consumer.
type Delivery struct {
	Queue, Consumer string
	// Outcome says how it ended: Empty where all is delivered. Of Wait that FAILED and of Full,
	// Cause says why, where that was found now. It is not OK, InDoubt or Committed.
	Outcome Outcome
	// Reason tells outcomes of one kind apart, in a word: see [Outcome].
	Reason string
	// Record is the consumer as it was last seen.
	Record Consumer
	// Batches, Messages and Skipped are what was delivered and committed.
	Batches, Messages, Skipped int
	// Deferred is how many batches were handed over that are not yet committed: the chains of their
	// work, or workers, commit them.
	Deferred int
	// Cause is why the handler failed, or which message is missing.
	Cause error
	// Err is why the delivery could not go on: the store failed, or the queue was erased
	// ([cursor.ErrErased]). What was committed stays so, and the next call goes on.
	Err error
}

// end says how the delivery ended. Two empty texts: it goes on.
func (d *Delivery) end(o Outcome, reason string) { d.Outcome, d.Reason = o, reason }

// lost ends a delivery whose claim is not its own any more; after is the consumer as it is now.
func (run *delivery) lost(after Consumer) {
	_, reason := judge(after, run.Record.Token).outcome()
	run.end(Lost, reason)
}
