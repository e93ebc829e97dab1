package xorack

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// endNow are the changes of an end that somebody says: the chain is due, so that
// the sweep finds it, created or not, and does not expire before it is sealed.
func endNow(tag string, how End, now time.Time) []ddb.Action {
	return []ddb.Action{
		attrRecorded.Set(ddb.Text(string(how))), attrEndedAt.Set(ddb.Millis(now)),
		attrDue.Set(ddb.Millis(now)), attrDueShard.Set(ddb.Int(dueShard(tag))), attrExpiresOn.Set(ddb.Seconds(Never)),
	}
}

// Extend sets a later deadline, if the chain is created, not ended, and of this
// incarnation. Due stays: the sweep looks at the old time, and goes away.
//
// Lost response, another did it first: the deadline is as late as asked for or
// later. We die right after: nothing is left to do.
//
// One UpdateItem, ALL_NEW.
func (s *Store) Extend(ctx context.Context, tag string, inc Incarnation, deadline time.Time) (Chain, bool, error) {
	// Only a chain that is created has a deadline.
	later := ddb.Millis(deadline)
	return s.update(ctx, "extend", tag, ddb.And(isThis(inc), isRunning, attrDeadline.Lt(later)), attrDeadline.Set(later))
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

// TimeOut ends a chain as TimedOut, if it is created, not ended, of this
// incarnation, and its deadline has come; or, where seen is not the zero time,
// its Seen is still that.
//
// Lost response, another ended it first: it has ended. We die right after: the
// sweep finds it again.
//
// One UpdateItem, ALL_NEW.
func (s *Store) TimeOut(ctx context.Context, o Overdue) (Chain, bool, error) {
	isOverdue := attrDeadline.Le(ddb.Millis(o.Now))
	if !o.Seen.IsZero() {
		isOverdue = ddb.And(attrCreated.Exists(), attrSeen.Eq(ddb.Millis(o.Seen)))
	}
	return s.update(ctx, "time out", o.Tag, ddb.And(isThis(o.Incarnation), isRunning, isOverdue),
		attrRecorded.Set(ddb.Text(string(TimedOut))), attrReason.Set(ddb.Text(o.Reason)), attrEndedAt.Set(ddb.Millis(o.Now)))
}

// Abandon ends a chain as TimedOut, if it is not ended, of the same incarnation
// and of edges, and was never created or its deadline has come. It makes the
// chain due, and its expiry [Never].
//
// Lost response, another ended it first: it has ended. We die right after: as
// with Fail.
//
// One UpdateItem, ALL_NEW; up to 2 write units of the index.
func (s *Store) Abandon(ctx context.Context, o Overdue) (Chain, bool, error) {
	do := append(endNow(o.Tag, TimedOut, o.Now),
		attrIncarnation.Set(ddb.Blob(o.Incarnation[:])), attrReason.Set(ddb.Text(o.Reason)))
	if o.Data != "" {
		do = append(do, attrData.Set(ddb.Text(o.Data)))
	}
	isOverdue := ddb.Or(attrCreated.Missing(), attrDeadline.Le(ddb.Millis(o.Now)))
	return s.upsert(ctx, "abandon", o.Tag, ddb.And(isOpen, isSame(o.Incarnation), hasEdges, isOverdue), do...)
}

// Postpone moves Due from one time to another, if the chain is not ended and of
// this incarnation.
//
// Lost response, another did it first: the sweep looks once more. We die right
// after: nothing is left to do.
//
// One UpdateItem, ALL_NEW; 2 write units of the index.
func (s *Store) Postpone(ctx context.Context, tag string, inc Incarnation, from, to time.Time) (Chain, bool, error) {
	return s.update(ctx, "postpone", tag, ddb.And(isThis(inc), isRunning, attrDue.Eq(ddb.Millis(from))), attrDue.Set(ddb.Millis(to)))
}

// Delete ends a chain of edges as Deleted, if it is there and not ended, and
// makes it due, and its expiry [Never].
//
// Lost response: the repeat finds it Deleted with its own LastOp. Another ended
// it first: theirs stays. We die right after: as with Fail.
//
// One UpdateItem, ALL_NEW; up to 2 write units of the index.
func (s *Store) Delete(ctx context.Context, tag string, op Op, now time.Time) (Chain, bool, error) {
	return s.update(ctx, "delete", tag, ddb.And(isOpen, hasEdges),
		append(endNow(tag, Deleted, now), attrLastOp.Set(ddb.Blob(op[:])))...)
}

// Seal records that everything was done for the end of a chain: its end, when it
// was, and when the record may be deleted. It is due no more. Only an ended chain
// of this incarnation that is due is sealed.
//
// Lost response, another did it first: it is sealed. We die right after: nothing
// is left to do.
//
// One UpdateItem, ALL_NEW; 1 write unit of the index.
func (s *Store) Seal(ctx context.Context, tag string, inc Incarnation, ended, expires time.Time) (Chain, bool, error) {
	return s.update(ctx, "seal", tag, ddb.And(isThis(inc), attrDue.Exists(), ddb.Not(isRunning)),
		attrRecorded.SetIfMissing(ddb.Text(string(Done))), attrEndedAt.SetIfMissing(ddb.Millis(ended)),
		attrExpiresOn.Set(ddb.Seconds(expires)), attrDue.Remove(), attrDueShard.Remove())
}
