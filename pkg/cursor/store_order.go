package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
)

// Allocate gives entries the seqs behind the position: they join the tail, and the position rises
// by what they count. It does so if the queue is in arrival order, none of the entries has a place
// behind seen.From, the position is seen.To or more, the tail has at most MaxTail entries
// afterwards, and the position does not pass MaxSeq. MovedAt becomes now.
//
// What the entries' arrivals have seen lies between seen.From and seen.To. An entry has no place
// behind seen.From if it is not in the tail, and either TailFrom is not above seen.From, or
// FingerprintsFrom is not and its print is not among the Fingerprints.
//
// Lost response: the repeat fails, and the entries are in the tail that it returns; or TailFrom is
// above seen.From, and they may be in an order item. Another did it first: the same. We die right
// after: the messages have their places, and a repeat gets them.
func (s *requests) Allocate(ctx context.Context, queue string, entries queuelog.Tail, seen Range,
	now time.Time) (Cursor, bool, error) {
	// A condition may have 300 operators: two for each of these.
	inTail, inPrints := make([]ddb.Cond, entries.Len()), make([]ddb.Cond, entries.Len())
	for i := range entries.Len() {
		inTail[i] = attrTail.Contains(encodeEntry(entries.At(i)))
		inPrints[i] = attrFingerprints.Contains(ddb.Text(string(fingerprintOf(entries.At(i)))))
	}
	from := ddb.Int(seen.From)
	return s.update(ctx, "allocation", queue,
		ddb.And(isArrivalOrder,
			ddb.Or(attrTailFrom.Le(from),
				ddb.And(attrFingerprintsFrom.Le(from), ddb.Not(ddb.Or(inPrints...)))),
			attrTail.SizeLe(queuelog.MaxTail-entries.Len()),
			attrPosition.Ge(ddb.Int(seen.To)), attrPosition.Le(ddb.Int(MaxSeq-entries.Seqs())),
			ddb.Not(ddb.Or(inTail...))),
		attrPosition.Plus(entries.Seqs()), attrTail.Append(encodeTail(entries)),
		attrMovedAt.Set(ddb.Millis(now)), changeAdvance)
}

// AllocateAt is Allocate for one entry whose first seq is given: it does so if the position is
// right before that. So no other clause is needed but the tail's room, and the queue's kind: an
// entry that has its place finds a position beyond it.
//
// Lost response, another did it first: the repeat fails, and returns a position at first or beyond;
// what is stored there tells whose it is. We die right after: the messages are committed.
func (s *requests) AllocateAt(ctx context.Context, queue string, e queuelog.Entry, first int64,
	now time.Time) (Cursor, bool, error) {
	return s.update(ctx, "allocation", queue,
		ddb.And(isArrivalOrder, attrPosition.Eq(ddb.Int(first-1)), attrTail.SizeLe(queuelog.MaxTail-1)),
		attrPosition.Plus(int64(e.Count)), attrTail.Append(encodeTail(queuelog.NewTail(e))),
		attrMovedAt.Set(ddb.Millis(now)), changeAdvance)
}

// PutOrderItem stores o if nothing is stored under its queue and seq, and returns what stands there
// afterwards. One PutItem; 1 write unit.
//
// Lost response, another did it first: what stands there is the same, for the first entries of a
// tail never change. We die right after: the entries stand in two places, until the next one trims
// the tail.
func (s *requests) PutOrderItem(ctx context.Context,
	o queuelog.OrderItem) (queuelog.OrderItem, error) {
	a, err := s.put(ctx, "put order item", s.messages, encodeOrderItem(o, s.names),
		s.queueKey.Missing())
	if err != nil || a.Held {
		return o, err
	}
	return s.decodeOrderItem(a.Item)
}

func (s *requests) decodeOrderItem(it ddb.Item) (queuelog.OrderItem, error) {
	return ddb.Decoded(it, func(it ddb.Item) (queuelog.OrderItem, error) {
		return decodeOrderItem(it, s.names)
	})
}

// TrimTail takes the first n entries out of the tail of a cursor that was seen, and in arrival
// order puts their fingerprints behind the others, if TailFrom is still what was seen. Their order
// items must be stored.
//
// Lost response, another did it first: the repeat fails, and returns a TailFrom beyond the one that
// was seen. We die right after: nothing is left to do.
func (s *requests) TrimTail(ctx context.Context, seen Cursor, n int) (Cursor, bool, error) {
	next := seen.trimmed(n)
	do := []ddb.Action{attrTailFrom.Set(ddb.Int(next.TailFrom)), changeOther}
	if !keyed(seen) {
		do = append(do, attrFingerprintsFrom.Set(ddb.Int(next.FingerprintsFrom)),
			attrFingerprints.Set(ddb.Text(string(next.Fingerprints))))
	}
	// From the last to the first: dynoxide 1.2.1 removes them one after the other, DynamoDB all at
	// once.
	for i := range n {
		do = append(do, attrTail.Index(n-1-i).Remove())
	}
	return s.update(ctx, "trim tail", seen.Queue, attrTailFrom.Eq(ddb.Int(seen.TailFrom)), do...)
}

type orderPage struct {
	Items []queuelog.OrderItem
	// More is true where the range may hold more than this page.
	More bool
}

// OrderItems reads the order items whose Last is in a range, in its order or backwards. HeadsOnly
// means nothing here. One Query of at most 1 MB; 1 read unit for each 4 KB strong, half a unit
// otherwise. An order item has about 400 bytes.
func (s *requests) OrderItems(ctx context.Context, query queuelog.Query) (orderPage, error) {
	a, err := s.between(ctx, "query order items", query)
	if err != nil {
		return orderPage{}, err
	}
	page := orderPage{Items: make([]queuelog.OrderItem, len(a.Items)), More: a.Next.Exists()}
	for i, it := range a.Items {
		if page.Items[i], err = s.decodeOrderItem(it); err != nil {
			return orderPage{}, err
		}
	}
	return page, nil
}
