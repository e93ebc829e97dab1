package xorack

import (
	"context"
	"time"
)

// Store is the acker's view of its table. [Dynamo] is the real one, [Memory]
// the one for tests and simulation; package xoracktest holds every
// implementation to what is said here.
//
// Every method is exactly one request. Writes are atomic and durable when the
// method returns nil; a strong read sees every write that was answered before
// it began. All methods may be called by any number of goroutines.
//
// A method that returns an error may have taken effect all the same, and a
// request may take effect twice (the SDK repeats one whose response is lost).
// So each write says in its condition what must still be so, answers with the
// chain that stands there afterwards and whether this request changed it, and
// leaves a mark by which its repeat finds it.
//
// "Not ended" means [Chain.End] is Open; "same incarnation" that the record
// has none, or this one.
type Store interface {
	// Create makes a chain of c where none was created, none has ended, and
	// what stands there (operations that came before) is of the same
	// incarnation and kind. Their sums are added; Seen keeps its value.
	//
	// Lost response: the repeat finds a chain with our own incarnation and
	// options. Another did it first: the same one, with the same options, is
	// as good as ours. We die right after: a chain that times out.
	Create(ctx context.Context, c Chain) (Chain, bool, error)

	// Replace stores c in the place of what is left of another chain, if that
	// still stands there: one of `seen`'s incarnation that was never created
	// or has expired; or, where `seen` was deleted, the one with its LastOp.
	// Stamps that came before a creation have no incarnation: they stay.
	//
	// Lost response: the repeat finds our own chain. Another did it first:
	// theirs is returned. We die right after: as with Create.
	Replace(ctx context.Context, c Chain, seen Chain) (Chain, bool, error)

	// Apply counts operations, if the chain is not ended, of the same
	// incarnation and of edges, has none of them yet, none of the ends that
	// they must come before, and room for all.
	//
	// Lost response: the repeat finds its marks among Ops. Another did it
	// first: the same, for a mark belongs to one operation only. We die right
	// after: it counts; if it ended the chain, the stream's handler and the
	// sweep carry the end on.
	Apply(ctx context.Context, w Work) (Chain, bool, error)

	// Fail ends a chain as Failed, if it is not ended, of the same incarnation
	// and of edges, and the operation has not counted. It makes the chain due,
	// and its expiry [Never].
	//
	// Lost response: the repeat finds it Failed with its own LastOp. Another
	// ended it first: theirs stays. We die right after: as with Apply.
	Fail(ctx context.Context, f Failure) (Chain, bool, error)

	// Extend sets a later deadline, if the chain is created, not ended, and of
	// this incarnation. Due stays: the sweep looks at the old time, and goes
	// away.
	//
	// Lost response, another did it first: the deadline is as late as asked
	// for or later. We die right after: nothing is left to do.
	Extend(ctx context.Context, tag string, inc Incarnation, deadline time.Time) (Chain, bool, error)

	// TimeOut ends a chain as TimedOut, if it is created, not ended, of this
	// incarnation, and its deadline has come; or, where seen is not the zero
	// time, its Seen is still that.
	//
	// Lost response, another ended it first: it has ended. We die right after:
	// the sweep finds it again.
	TimeOut(ctx context.Context, t Overdue) (Chain, bool, error)

	// Abandon ends a chain as TimedOut, if it is not ended, of the same
	// incarnation and of edges, and was never created or its deadline has come.
	// It makes the chain due, and its expiry [Never].
	//
	// Lost response, another ended it first: it has ended. We die right after:
	// as with Fail.
	Abandon(ctx context.Context, o Overdue) (Chain, bool, error)

	// Postpone moves Due from one time to another, if the chain is not ended
	// and of this incarnation.
	//
	// Lost response, another did it first: the sweep looks once more. We die
	// right after: nothing is left to do.
	Postpone(ctx context.Context, tag string, inc Incarnation, from, to time.Time) (Chain, bool, error)

	// Delete ends a chain of edges as Deleted, if it is there and not ended,
	// and makes it due, and its expiry [Never].
	//
	// Lost response: the repeat finds it Deleted with its own LastOp. Another
	// ended it first: theirs stays. We die right after: as with Fail.
	Delete(ctx context.Context, tag string, op Op, now time.Time) (Chain, bool, error)

	// Seal records that everything was done for the end of a chain: its end,
	// when it was, and when the record may be deleted. It is due no more. Only
	// an ended chain of this incarnation that is due is sealed.
	//
	// Lost response, another did it first: it is sealed. We die right after:
	// nothing is left to do.
	Seal(ctx context.Context, tag string, inc Incarnation, ended, expires time.Time) (Chain, bool, error)

	// AddStamp adds a stamp to a chain of stamps, if it is not ended, of
	// stamps of this length, and has room. A stamp that is there is added
	// again without effect.
	//
	// Lost response: the repeat changes nothing. Another did it first: the
	// same. We die right after: if the chain is acked by it, the stream's
	// handler and the sweep record that.
	AddStamp(ctx context.Context, s Stamp) (Chain, bool, error)

	// Settle records that a chain of stamps is Done, if it is created, not
	// ended, of this incarnation, and has as many stamps as the caller has
	// seen.
	//
	// Lost response, another did it first: it is Done. We die right after: as
	// with Apply.
	Settle(ctx context.Context, tag string, inc Incarnation, stamps int, now time.Time) (Chain, bool, error)

	// DeleteStamps ends a chain of stamps as Deleted, if it is there and not
	// deleted. Nothing is left to do for it then.
	//
	// Lost response: the repeat finds its own LastOp. Another did it first:
	// the chain is deleted. We die right after: nothing is left to do.
	DeleteStamps(ctx context.Context, tag string, op Op, now, expires time.Time) (Chain, bool, error)

	// Chain reads a chain strongly; the zero Chain where there is none.
	Chain(ctx context.Context, tag string) (Chain, error)

	// Due reads which chains of a part are due, the longest due first, not
	// strongly.
	Due(ctx context.Context, q DueQuery) ([]DueChain, error)
}

// DueShards is how many parts the chains that are due are in.
const DueShards = dueShards

// DueQuery asks for chains that are due.
type DueQuery struct {
	// Shard is the part, from 0 to DueShards-1.
	Shard int
	// At is the time at which they are due.
	At time.Time
	// After, where it is not the zero DueChain, is the last one that was read
	// before.
	After DueChain
	// Limit is the most chains to return, from 1 on.
	Limit int
}

// DueChain is a chain that is due.
type DueChain struct {
	Tag string
	Due time.Time
}

// Work is what operations do to a chain's sum.
type Work struct {
	Tag         string
	Incarnation Incarnation
	// Delta is what they add to the sum, Edges how many edges they start, Ops
	// their marks: 1 to MaxMerge different ones. The last one becomes LastOp.
	Delta Sum
	Edges int64
	Ops   []Op
	// Splits tell the children of those that start any; Before are the marks
	// of the edges that must not have ended: those under which edges start.
	// Of Ops and Before there are at most MaxMerge together.
	Splits []Split
	Before []Op
	// Room is the most operations that the chain may have before.
	Room int
	Now  time.Time
	// Orphan is when the record may be deleted if its chain is never created.
	Orphan time.Time
}

// Failure is an edge that failed.
type Failure struct {
	Tag         string
	Incarnation Incarnation
	Op          Op
	Reason      string
	Now         time.Time
}

// Overdue is a chain that is to time out. Abandon takes no Seen, TimeOut no
// Data.
type Overdue struct {
	Tag         string
	Incarnation Incarnation
	Reason      string
	Now         time.Time
	// Seen, where it is not the zero time, is the last progress, which is too
	// long ago; the deadline does not matter then.
	Seen time.Time
	// Data, where it is not empty, becomes the chain's.
	Data string
}

// Stamp is a stamp of a chain of stamps.
type Stamp struct {
	Tag string
	// Marked is the stamp behind the 6 bytes that mark its operation.
	Marked []byte
	// Room is the most stamps that the chain may have before.
	Room   int
	Now    time.Time
	Orphan time.Time
}
