package xorack

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// Bounds and defaults of an [Acker].
const (
	// MaxOps is the most operations of a chain: edges that end, and calls of Add. It is also the
	// most edges that one operation starts.
	MaxOps = 1000
	// maxMerge is the most operations that go as one write.
	maxMerge = 100
	// MaxReason is the most bytes of a failure's reason.
	MaxReason = 256
	// maxData is the most bytes that are stored with a chain.
	maxData = 2048

	// DefaultDeadline is how long a chain may take where no deadline is given.
	DefaultDeadline = 24 * time.Hour
	// MaxDeadline is the longest deadline, counted from now.
	MaxDeadline = 30 * 24 * time.Hour
	// DefaultTombstone is how long the record of an ended chain is retained, and MinTombstone the
	// shortest that it may be.
	DefaultTombstone = 7 * 24 * time.Hour
	MinTombstone     = time.Hour
)

// Acker detects when whole trees of work are done. An Acker may be used by any number of
// goroutines, and any number of Ackers in any number of processes may work on the same table.
type Acker struct {
	store     *Store
	tombstone time.Duration
	now       func() time.Time
	newOp     func() Op
	forEach   func(n int, do func(i int))
	wakeUp    func(tag string, due time.Time)
}

// Options are the parts of an [Acker] that have defaults. A nil Options means all of them.
type Options struct {
	// Tombstone is how long the record of an ended chain is retained, and that of operations whose
	// chain was never created: 1 hour to 10 years, and 7 days where it is 0. It must outlive every
	// retry and redelivery: an operation that comes later still makes a new record.
	Tombstone time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// NewOp returns the mark of an operation that has none from an edge, 8 unique bytes; nil means
	// random ones.
	NewOp func() Op
	// ForEach runs do(0) … do(n-1) and returns when all have returned: a fan creates its sub-chains
	// through it, and a sweep and a stream's handler process their chains through it. nil means in
	// parallel, up to 64 at a time; nothing else starts a goroutine. The simulator passes one that
	// runs them one after the other.
	ForEach func(n int, do func(i int))
	// WakeUp, if not nil, is called when a chain is late, up to an hour ahead: by who creates or
	// extends it, and by the sweep of those that were late farther ahead. [Acker.Wake] should be
	// called then. Nothing depends on it: the sweep finds what is late. It may be called from
	// several goroutines at once, and must not wait for anything.
	WakeUp func(tag string, due time.Time)
}

const maxTombstone = 10 * 365 * 24 * time.Hour

// New returns an Acker on the store, or an [InvalidError] that names the option that is out of its
// bounds.
func New(store *Store, options *Options) (*Acker, error) {
	if options == nil {
		options = &Options{}
	}
	a := &Acker{
		store: store, tombstone: cmp.Or(options.Tombstone, DefaultTombstone), now: options.Now,
		newOp: options.NewOp, forEach: options.ForEach,
		wakeUp: options.WakeUp,
	}
	if err := bounds.Check("tombstone", a.tombstone, MinTombstone, maxTombstone); err != nil {
		return nil, err
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.newOp == nil {
		a.newOp = func() (op Op) {
			_, _ = rand.Read(op[:]) // crypto/rand never fails: it ends the program instead
			return op
		}
	}
	if a.forEach == nil {
		a.forEach = fanout.SideBySide
	}
	return a, nil
}

// Base is what package stamps builds on: the table, clock and options of the acker. Nothing else
// uses it.
func (a *Acker) Base() *chains.Base[Chain] {
	return &chains.Base[Chain]{
		Table: a.store.table, Tombstone: a.tombstone, Now: a.now,
		NewOp:  func() [8]byte { return a.newOp() },
		Create: a.create, Settle: a.settle, Decoded: a.store.decoded,
	}
}

// Outcome is what became of an operation.
type Outcome string

const (
	// Applied: it counts. Whether the chain has ended meanwhile by another operation is in the
	// result's chain.
	Applied Outcome = "applied"
	// Ended: it counts, and this very operation ended the chain. Exactly one operation of a chain
	// gets this outcome, each time that it is repeated.
	Ended Outcome = "ended"
	// EdgeEnded: the edge that is said to fail, or under which edges are to start, has ended
	// before; nothing changed.
	EdgeEnded Outcome = "edge-ended"
	// OtherChildren: the operation counted before, and started other edges; nothing changed. Those
	// that are named now were never started: their work must not be passed on.
	OtherChildren Outcome = "other-children"
	// The chain had ended before; nothing changed.
	AlreadyDone     Outcome = "already-done"
	AlreadyFailed   Outcome = "already-failed"
	AlreadyTimedOut Outcome = "already-timed-out"
	AlreadyDeleted  Outcome = "already-deleted"
)

func already(end End) Outcome {
	switch end {
	case Done:
		return AlreadyDone
	case Failed:
		return AlreadyFailed
	case TimedOut:
		return AlreadyTimedOut
	}
	return AlreadyDeleted
}

// Result is the answer to an operation.
type Result struct {
	Outcome Outcome
	// Chain is the chain as it stands after the operation.
	Chain Chain
}

// Get reads a chain strongly. Where none is stored under the tag, or all of it is gone, that is
// [ErrTagNotFound].
//
// It costs one read.
func (a *Acker) Get(ctx context.Context, tag string) (Chain, error) {
	if err := ValidateTag(tag); err != nil {
		return Chain{}, err
	}
	c, err := a.store.Chain(ctx, tag)
	if err != nil {
		return Chain{}, err
	}
	if !c.Exists() {
		return Chain{}, ErrTagNotFound
	}
	return c, nil
}
