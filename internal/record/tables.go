package record

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// TablesOf are the tables of a *delivery.Deliverer, for package pull. Package delivery sets
// it: a method of the Deliverer would be one for its users too.
var TablesOf func(deliverer any) Tables

// Tables are what a Deliverer and a Puller work on.
type Tables struct {
	Store  *Store
	Sorter *cursor.Sorter
	// Now is the clock, Lease how long a claim is good for.
	Now   func() time.Time
	Lease time.Duration
	// KnownQueues lets replies go only to queues that are there.
	KnownQueues bool
	// FinishStart ends the start of a consumer that nobody finished.
	FinishStart func(context.Context, Consumer) (Consumer, error)
	// EndDeferred ends a deferred claim for the worker that has its token, and wakes the consumer up:
	// by a commit, or by a failure that the worker says why of.
	EndDeferred func(ctx context.Context, c Consumer, commit bool, why string) (Consumer, bool, error)
	// IsTracked reports whether a deferred claim has a chain.
	IsTracked func(context.Context, Consumer) (bool, error)
}
