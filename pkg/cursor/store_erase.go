package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// isLive: the queue has a cursor, and is not erased.
var isLive = attrPosition.Exists()

// MarkErased makes a queue's cursor a stub, for ever: nothing is taken, moved or changed under it.
// It returns the cursor that is stored afterwards, the zero Cursor where there exists. One
// UpdateItem; 1 write unit, 2 in arrival order.
//
// Lost response: the repeat fails, and returns the stub with our op. Another did it first: theirs
// is returned. We die right after: nothing is taken any more, and the sweep deletes what is stored.
func (s *requests) MarkErased(ctx context.Context, queue, op string, now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, "mark erased", queue, isLive,
		append(ddb.Removed(live...), attrLastSeq.Set(attrPosition.Ref()),
			attrErased.Set(ddb.Millis(now)), attrEraseOp.Set(ddb.Text(op)), changeOther)...)
	return c, err
}

// EndErase notes on a stub that nothing of its queue is stored any more. It returns the cursor that
// is stored afterwards. One UpdateItem; 1 write unit.
//
// Lost response, another did it first: the repeat fails, and the stub has the note. We die right
// after: nothing is left to do.
func (s *requests) EndErase(ctx context.Context, queue string, now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, "end erase", queue, isBeingErased, attrEmptied.Set(ddb.Millis(now)))
	return c, err
}

// isBeingErased: something of the queue may be stored still.
var isBeingErased = ddb.And(attrErased.Exists(), attrEmptied.Missing())

// Seqs reads under which seqs of a range anything is stored: messages, tombstones and order items.
// HeadsOnly means nothing here. One Query of at most 1 MB; 1 read unit for each 4 KB of what is
// stored strong, half a unit otherwise.
func (s *requests) Seqs(ctx context.Context, query queuelog.Query) (seqs []int64, more bool, err error) {
	a, err := s.between(ctx, "query seqs", query, s.queueKey, s.seqKey)
	if err != nil {
		return nil, false, err
	}
	seqs = make([]int64, len(a.Items))
	for i, it := range a.Items {
		d := ddb.Decoder{Item: it}
		if seqs[i] = d.Number(s.seqKey); d.Err != nil {
			return nil, false, d.Err
		}
	}
	return seqs, a.Next.Exists(), nil
}

// ArrivalKeys reads the keys of a queue's arrivals behind one, from the first where it is nil, at
// most limit. One Query of at most 1 MB; 1 read unit for each 4 KB of what is stored strong, half a
// unit otherwise.
func (s *requests) ArrivalKeys(ctx context.Context, queue string, after *sortkey.SortKey, limit int, strong bool) (keys []sortkey.SortKey, more bool, err error) {
	query := ddb.Query{
		Op: ddb.Op{Op: "query arrivals", Table: s.arrivals}, Partition: ddb.Text(queue), Limit: limit, Strong: strong,
		Only: []ddb.Path{s.queueKey, attrSortKey},
	}
	if after != nil {
		query.After = s.arrivalKey(queue, *after)
	}
	a, err := s.engine.Do(ctx, query)
	if err != nil {
		return nil, false, err
	}
	keys = make([]sortkey.SortKey, len(a.Items))
	for i, it := range a.Items {
		keys[i] = sortkey.SortKey(it.Get(attrSortKey).Str())
	}
	return keys, a.Next.Exists(), nil
}

// DeleteArrivals deletes up to 25 arrivals, whether or not they are there, and returns how many the
// server left undone. One BatchWriteItem; 1 write unit for each KB of each arrival.
//
// Lost response, another did it first: nothing is there, as asked for. We die right after: nothing
// is left to do.
func (s *requests) DeleteArrivals(ctx context.Context, queue string, keys []sortkey.SortKey) (left int, err error) {
	items := make([]ddb.Item, len(keys))
	for i, key := range keys {
		items[i] = s.arrivalKey(queue, key)
	}
	a, err := s.engine.Do(ctx, ddb.BatchWrite{Op: ddb.Op{Op: "delete arrivals", Table: s.arrivals}, Deletes: items})
	return len(a.Left), err
}
