package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/table"
)

// isLive: the queue has a cursor, and is not erased.
var isLive = attrPosition.Exists()

// MarkErased makes a queue's cursor a stub, for ever: nothing is taken, moved or changed under it.
// One UpdateItem; 1 write unit, 2 in arrival order.
//
// Lost response: the repeat fails, and returns the stub with our op. Another did it first: theirs
// is returned. We die right after: nothing is taken any more, and the sweep deletes what is stored.
func (s *requests) MarkErased(ctx context.Context, queue, op string,
	now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, "mark erased", queue, isLive,
		append(ddb.Removed(live...), attrLastSeq.Set(attrPosition.Ref()),
			attrErased.Set(ddb.Millis(now)), attrEraseOp.Set(ddb.Text(op)), changeOther)...)
	return c, err
}

// EndErase notes on a stub that nothing of its queue is stored any more.
//
// Lost response, another did it first: the repeat fails, and the stub has the note. We die right
// after: nothing is left to do.
func (s *requests) EndErase(ctx context.Context, queue string, now time.Time) (Cursor, error) {
	c, _, err := s.update(ctx, "end erase", queue, isBeingErased, attrEmptied.Set(ddb.Millis(now)))
	return c, err
}

// isBeingErased: something of the queue may be stored still.
var isBeingErased = ddb.And(attrErased.Exists(), attrEmptied.Missing())

// Keys reads the keys of what a table has of a queue behind one of them, from the first where it is
// none, at most limit: of the messages, messages, tombstones and order items, or of the arrivals.
// One Query of at most 1 MB; 1 read unit for each 4 KB of what is stored strong, half a unit
// otherwise.
func (s *requests) Keys(
	ctx context.Context, in *table.Definition, queue string, after ddb.Item, limit int, strong bool,
) (keys []ddb.Item, more bool, err error) {
	query := ddb.Query{
		Op: ddb.Op{Op: "query arrivals", Table: in}, Partition: ddb.Text(queue), After: after,
		Limit: limit, Strong: strong,
		Only: []ddb.Path{ddb.Path(in.Partition.Name), ddb.Path(in.Sort.Name)},
	}
	if in.Name == s.messages.Name {
		first := int64(0)
		if after.Exists() {
			last, _ := after.Get(s.seqKey).Int64()
			first = last + 1
		}
		query.Op.Op, query.After = "query seqs", ddb.Item{}
		query.Where = s.seqKey.Between(ddb.Int(first), ddb.Int(MaxSeq))
	}
	a, err := s.engine.Do(ctx, query)
	return a.Items, a.Next.Exists(), err
}

// maxDelete is how many items a BatchWriteItem takes.
const maxDelete = 25

// DeleteKeys deletes up to 25 messages, or arrivals, whether or not they are there, and returns how
// many the server left undone. One BatchWriteItem; 1 write unit for each KB of each of them.
//
// Lost response, another did it first: nothing is there, as asked for. We die right after: nothing
// is left to do.
func (s *requests) DeleteKeys(ctx context.Context, in *table.Definition,
	keys []ddb.Item) (left int, err error) {
	op := ddb.Op{Op: "delete arrivals", Table: in}
	if in.Name == s.messages.Name {
		op.Op = "delete messages"
	}
	a, err := s.engine.Do(ctx, ddb.BatchWrite{Op: op, Deletes: keys})
	return len(a.Left), err
}
