package handoff

import "time"

// Handed is a batch that was handed to a [Reader], and when.
type Handed struct {
	Batch Batch
	// Claimed is when its claim was made, Returned when the handler returned, and Committed when
	// the commit was answered, by this process's clock. Committed is the zero time where this process did not
	// commit it: it failed, another ended its claim, or the chain of its work decides.
	Claimed, Returned, Committed time.Time
	// Err is why the handler failed.
	Err error
}

// tell tells the reader what became of the batch that was handed on last.
func (run *delivery) tell(batch Batch, committed time.Time, err error) {
	if run.reader.Handed != nil {
		run.reader.Handed(Handed{Batch: batch, Claimed: run.claimed, Returned: run.returned, Committed: committed, Err: err})
	}
}
