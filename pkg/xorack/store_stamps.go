package xorack

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// mayHaveStamps asks for nothing, or for a chain of stamps of this length.
func mayHaveStamps(length int) ddb.Cond {
	return ddb.And(attrSum.Missing(), ddb.Or(attrStampLen.Missing(), attrStampLen.Eq(ddb.Int(int64(length)))))
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

// AddStamp adds a stamp to a chain of stamps, if it is not ended, of stamps of
// this length, and has room. A stamp that is there is added again without
// effect.
//
// Lost response: the repeat changes nothing. Another did it first: the same. We
// die right after: if the chain is acked by it, the stream's handler and the
// sweep record that.
//
// One UpdateItem, ALL_NEW.
func (s *Store) AddStamp(ctx context.Context, w Stamp) (Chain, bool, error) {
	length := len(w.Marked) - stampMark
	return s.upsert(ctx, "stamp", w.Tag,
		ddb.And(attrRecorded.Missing(), mayHaveStamps(length), ddb.Or(attrStamps.Missing(), attrStamps.SizeLe(w.Room))),
		attrStampLen.Set(ddb.Int(int64(length))), attrSeen.Set(ddb.Millis(w.Now)),
		attrExpiresOn.SetIfMissing(ddb.Seconds(w.Orphan)), attrStamps.Add(ddb.Blobs(w.Marked)))
}

// Settle records that a chain of stamps is Done, if it is created, not ended, of
// this incarnation, and has as many stamps as the caller has seen.
//
// Lost response, another did it first: it is Done. We die right after: as with
// Apply.
//
// One UpdateItem, ALL_NEW.
func (s *Store) Settle(ctx context.Context, tag string, inc Incarnation, stamps int, now time.Time) (Chain, bool, error) {
	// Only a chain of stamps that is created has an incarnation.
	return s.update(ctx, "settle", tag, ddb.And(isThis(inc), attrRecorded.Missing(), attrStamps.SizeEq(stamps)),
		attrRecorded.Set(ddb.Text(string(Done))), attrEndedAt.Set(ddb.Millis(now)))
}

// DeleteStamps ends a chain of stamps as Deleted, if it is there and not
// deleted. Nothing is left to do for it then.
//
// Lost response: the repeat finds its own LastOp. Another did it first: the chain
// is deleted. We die right after: nothing is left to do.
//
// One UpdateItem, ALL_NEW; 1 write unit of the index.
func (s *Store) DeleteStamps(ctx context.Context, tag string, op Op, now, expires time.Time) (Chain, bool, error) {
	return s.update(ctx, "delete stamps", tag, ddb.And(attrStampLen.Exists(), attrRecorded.Ne(ddb.Text(string(Deleted)))),
		attrRecorded.Set(ddb.Text(string(Deleted))), attrLastOp.Set(ddb.Blob(op[:])), attrEndedAt.Set(ddb.Millis(now)),
		attrExpiresOn.Set(ddb.Seconds(expires)), attrDue.Remove(), attrDueShard.Remove())
}
