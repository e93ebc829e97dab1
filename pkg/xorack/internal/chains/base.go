package chains

import "time"

// Base is what an acker works with, and the stamps beside it.
type Base struct {
	*Table
	// Tombstone is how long the record of an ended chain is retained.
	Tombstone time.Duration
	// Now is the clock, NewOp a mark that no other operation has.
	Now   func() time.Time
	NewOp func() [8]byte
	// Schedule tells when a chain of a tag is late.
	Schedule func(tag string, late time.Time)
}
