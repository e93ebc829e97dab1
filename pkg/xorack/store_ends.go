package xorack

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// endNow are the changes of an explicit end: the chain is due, so that the sweep finds it, created
// or not, and does not expire before it is sealed.
func endNow(tag string, how End, now time.Time) []ddb.Action {
	return []ddb.Action{
		chains.Recorded.Set(ddb.Text(string(how))), chains.EndedAt.Set(ddb.Millis(now)),
		chains.Due.Set(ddb.Millis(now)), chains.DueShard.Set(ddb.Int(chains.DueShardOf(tag))), chains.ExpiresOn.Set(ddb.Seconds(chains.Never)),
	}
}

// extend sets a later deadline, if the chain is created, not ended, and of this incarnation. Due
// stays: the sweep looks at the old time, and postpones it.
//
// Lost response, another did it first: the deadline is as late as asked for or later. We die right
// after: nothing is left to do.
//
// One UpdateItem, ALL_NEW.
func (s *Store) extend(ctx context.Context, tag string, inc Incarnation,
	deadline time.Time) (Chain, bool, error) {
	// Only a chain that is created has a deadline.
	later := ddb.Millis(deadline)
	return s.update(ctx, "extend", tag,
		ddb.And(chains.IsThis(inc), isRunning, chains.Deadline.Lt(later)), chains.Deadline.Set(later))
}

// timeOut ends a chain as TimedOut, if it is created, not ended, of c's incarnation, and its
// deadline has come; or, where seen, the last progress, is not the zero time, its Seen is still
// that.
//
// Lost response, another ended it first: it has ended. We die right after: the sweep finds it
// again.
//
// One UpdateItem, ALL_NEW.
func (s *Store) timeOut(
	ctx context.Context, c Chain, reason string, seen, now time.Time,
) (Chain, bool, error) {
	isOverdue := chains.Deadline.Le(ddb.Millis(now))
	if !seen.IsZero() {
		isOverdue = ddb.And(chains.Created.Exists(), chains.Seen.Eq(ddb.Millis(seen)))
	}
	return s.update(ctx, "time out", c.Tag,
		ddb.And(chains.IsThis(c.Incarnation), isRunning, isOverdue),
		chains.Recorded.Set(ddb.Text(string(TimedOut))), chains.Reason.Set(ddb.Text(reason)),
		chains.EndedAt.Set(ddb.Millis(now)))
}

// postpone moves Due from one time to another, if the chain is not ended and of this incarnation.
//
// Lost response, another did it first: the sweep looks once more. We die right after: nothing is
// left to do.
//
// One UpdateItem, ALL_NEW; 2 write units of the index.
func (s *Store) postpone(ctx context.Context, tag string, inc Incarnation,
	from, to time.Time) (Chain, bool, error) {
	return s.update(ctx, "postpone", tag, ddb.And(chains.IsThis(inc), isRunning,
		chains.Due.Eq(ddb.Millis(from))), chains.Due.Set(ddb.Millis(to)))
}

// putOff moves Due of whatever chain has the tag from one time to another, if it is still the first
// one.
//
// Lost response, another did it first: it is due at another time, and stays so. We die right after:
// nothing is left to do.
//
// One UpdateItem, ALL_NEW; 2 write units of the index.
func (s *Store) putOff(ctx context.Context, tag string, from, to time.Time) (Chain, bool, error) {
	return s.update(ctx, "put off", tag, chains.Due.Eq(ddb.Millis(from)),
		chains.Due.Set(ddb.Millis(to)))
}

// delete ends a chain of edges as Deleted, if it is there and not ended, and makes it due, and its
// expiry [chains.Never].
//
// Lost response: the repeat finds it Deleted with its own LastOp. Another ended it first: theirs
// stays. We die right after: as with fail.
//
// One UpdateItem, ALL_NEW; up to 2 write units of the index.
func (s *Store) delete(ctx context.Context, tag string, op Op, now time.Time) (Chain, bool, error) {
	return s.update(ctx, "delete", tag, ddb.And(isOpen, hasEdges),
		append(endNow(tag, Deleted, now), chains.LastOp.Set(ddb.Blob(op[:])))...)
}

// seal records that everything was done for the end of a chain: its end, when it was, and when the
// record may be deleted. It is due no more. Only an ended chain of this incarnation that is due is
// sealed.
//
// Lost response, another did it first: it is sealed. We die right after: nothing is left to do.
//
// One UpdateItem, ALL_NEW; 1 write unit of the index.
func (s *Store) seal(ctx context.Context, tag string, inc Incarnation,
	ended, expires time.Time) (Chain, bool, error) {
	return s.update(ctx, "seal", tag,
		ddb.And(chains.IsThis(inc), chains.Due.Exists(), ddb.Not(isRunning)),
		chains.Recorded.SetIfMissing(ddb.Text(string(Done))),
		chains.EndedAt.SetIfMissing(ddb.Millis(ended)),
		chains.ExpiresOn.Set(ddb.Seconds(expires)), chains.Due.Remove(), chains.DueShard.Remove())
}
