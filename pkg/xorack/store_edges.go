package xorack

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// create makes a chain of c where none was created, none has ended, and what is stored (operations
// or stamps that came before) is of the same incarnation, and of edges or of stamps as long as c's.
// Their sums are added, and the stamps put together; Seen keeps its value.
//
// Lost response: the repeat finds a chain with our own incarnation and options. Another did it
// first: the same one, with the same options, is as good as ours. We die right after: a chain that
// times out.
//
// One UpdateItem, ALL_NEW; 1 write unit, and 1 of the index.
func (s *Store) create(ctx context.Context, c Chain) (Chain, bool, error) {
	it := s.encode(c)
	do := make([]ddb.Action, 0, it.Len())
	for name, value := range it.All() {
		switch attr := ddb.Path(name); attr {
		case chains.Tag, chains.Version:
		case chains.Seen:
			do = append(do, attr.SetIfMissing(value))
		case chains.Sum, chains.Edges, chains.Stamps:
			do = append(do, attr.Add(value))
		default:
			do = append(do, attr.Set(value))
		}
	}
	isLike := hasEdges
	if c.HasStamps() {
		isLike = chains.MayHave(c.StampLen)
	}
	isSame := chains.IsSame(c.Incarnation)
	return s.upsert(ctx, "create", c.Tag,
		ddb.And(chains.Created.Missing(), chains.Recorded.Missing(), isSame, isLike), do...)
}

// replace stores c in the place of what is left of another chain, if that is still stored: one of
// `seen`'s incarnation that was never created or has expired; or, where `seen` was deleted, the one
// with its LastOp. Stamps that came before a creation have no incarnation: they stay.
//
// Lost response: the repeat finds our own chain. Another did it first: theirs is returned. We die
// right after: as with create.
//
// One PutItem; 1 write unit for each KB of the larger one, and 1 or 2 of the index.
func (s *Store) replace(ctx context.Context, c, seen Chain) (Chain, bool, error) {
	isOver := chains.IsOver(seen.Incarnation, c.Created)
	if seen.Recorded == Deleted {
		isOver = chains.IsDeleted(seen.LastOp)
	}
	return s.decoded(s.table.Replace(ctx, s.encode(c), isOver))
}

// work is what operations do to a chain's sum.
type work struct {
	Tag         string
	Incarnation Incarnation
	// Delta is what they add to the sum, Edges how many edges they start, Ops their marks: 1 to
	// maxMerge different ones. The last one becomes LastOp.
	Delta Sum
	Edges int64
	Ops   []Op
	// Splits identify the children of those that start any; Before are the marks of the edges that
	// must not have ended: those under which edges start. Of Ops and Before there are at most
	// maxMerge together.
	Splits []split
	Before []Op
	// Room is the most operations that the chain may have before.
	Room int
	Now  time.Time
	// Orphan is when the record may be deleted if its chain is never created.
	Orphan time.Time
}

// apply counts operations, if the chain is not ended, of the same incarnation and of edges, has
// none of them yet, none of the ends that they must come before, and room for all.
//
// Lost response: the repeat finds its marks among Ops. Another did it first: the same, for a mark
// belongs to one operation only. We die right after: it counts; if it ended the chain, the stream's
// handler and the sweep carry the end on.
//
// One UpdateItem, ALL_NEW; the first KB of the item has about 100 operations.
func (s *Store) apply(ctx context.Context, w work) (Chain, bool, error) {
	counted := make([]ddb.Cond, 0, len(w.Ops)+len(w.Before))
	for _, op := range slices.Concat(w.Ops, w.Before) {
		counted = append(counted, chains.Ops.Contains(ddb.Blob(op[:])))
	}
	last := w.Ops[len(w.Ops)-1]
	do := []ddb.Action{
		chains.Incarnation.Set(ddb.Blob(w.Incarnation[:])), chains.Seen.Set(ddb.Millis(w.Now)),
		chains.LastOp.Set(ddb.Blob(last[:])), chains.ExpiresOn.SetIfMissing(ddb.Seconds(w.Orphan)),
		chains.Sum.Add(w.Delta.value()), chains.Edges.Add(ddb.Int(w.Edges)), chains.Ops.Add(ddb.ValueOf(w.Ops)),
		chains.Splits.Add(ddb.ValueOf(w.Splits)),
	}
	if len(w.Splits) == 0 {
		do = do[:len(do)-1]
	}
	// One Not around all: a hundred of them would be more operators than an expression may have.
	return s.upsert(ctx, "apply", w.Tag,
		ddb.And(isOpen, chains.IsSame(w.Incarnation), hasEdges, ddb.Not(ddb.Or(counted...)),
			ddb.Or(chains.Ops.Missing(), chains.Ops.SizeLe(w.Room))), do...)
}

// fail ends an edge's chain as Failed, if it is not ended, of the same incarnation and of edges,
// and the edge has not ended. It makes the chain due, and its expiry [chains.Never].
//
// Lost response: the repeat finds it Failed with its own LastOp. Another ended it first: theirs
// stays. We die right after: as with apply.
//
// One UpdateItem, ALL_NEW; up to 2 write units of the index.
func (s *Store) fail(ctx context.Context, e Edge, reason string,
	now time.Time) (Chain, bool, error) {
	op := e.Op()
	return s.upsert(ctx, "fail", e.tag,
		ddb.And(isOpen, chains.IsSame(e.inc), hasEdges, ddb.Not(chains.Ops.Contains(ddb.Blob(op[:])))),
		append(endNow(e.tag, Failed, now), chains.Incarnation.Set(ddb.Blob(e.inc[:])),
			chains.Reason.Set(ddb.Text(reason)), chains.LastOp.Set(ddb.Blob(op[:])))...)
}
