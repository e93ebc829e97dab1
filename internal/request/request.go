// Package request is what the requests of pkg/delivery's store ask for, their bounds, and what is
// known of a sink's health.
package request

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Inside is what a caller shows that looks at the consumers' table past a Deliverer: none outside
// of this module has it.
type Inside struct{}

// Claim is what a claim asks for.
type Claim struct {
	// Req is what the claimer calls its request, 1 to 64 characters.
	Req string
	// To is the last seq of the range, which begins behind Delivered.
	To int64
	// Now is the claimer's clock, LeaseUntil when the claim may be taken over.
	Now, LeaseUntil time.Time
}

// Failure is why a claim is given back.
type Failure struct {
	Error string
	// ReplyQueue is the queue whose replies Error is about; empty where it is about none.
	ReplyQueue string
	// Shown is how many bytes of Error the queue's tenant may read; 0 for all: see
	// delivery.Consumer.
	Shown int
	// Alone: the claim had one message, so the failure is that message's, or its sink's.
	Alone   bool
	Now     time.Time
	RetryAt time.Time
	// Passed is how many seqs of the range, from its first on, are done nevertheless: what is
	// behind them failed once, with others.
	Passed int64
	// Block makes the consumer Blocked.
	Block bool
	// Away is how often in a row the sink was away, with this time: the attempt is taken back, and
	// the batch comes again as it was. It is 0 where the batch failed.
	Away int
	// Since, where it is not the zero time, is that the message failed alone for the first time.
	Since time.Time
	// Proven: the sink is known to take other batches, or no other queue fails. It takes the place
	// of what the failure before said.
	Proven bool
	// Last are the last attempts on the message that is tried next, with this one.
	Last Attempts
}

// Random is a name for a request that no other has.
func Random() string {
	req := make([]byte, 8)
	// crypto/rand never fails: it ends the program instead.
	_, _ = rand.Read(req)
	return hex.EncodeToString(req)
}
