package chains

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Base is what an acker works with, and the stamps beside it. C is the acker's type of a chain,
// which this package does not know.
type Base[C any] struct {
	*Table
	// Tombstone is how long the record of an ended chain is retained.
	Tombstone time.Duration
	// Now is the clock, NewOp a mark that no other operation has.
	Now   func() time.Time
	NewOp func() [8]byte
	// Create makes a chain, or finds that it was made, and returns it as it stands.
	Create func(context.Context, C) (C, error)
	// Settle records that a chain of stamps is done, where they say so. It returns the chain as it
	// stands, and whether this call recorded that.
	Settle func(context.Context, C) (C, bool, error)
	// Decoded is the answer to a write of the table.
	Decoded func(it ddb.Item, held bool, err error) (C, bool, error)
}
