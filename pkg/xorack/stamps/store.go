package stamps

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// store makes the requests for chains of stamps: each method one. As with [xorack.Store], a write
// answers with the chain that is stored afterwards and whether this request changed it, and changes
// no item of a newer layout: [table.ErrNewerLayout].
type store struct{ *chains.Table }

// mayHave asks for nothing, or for a chain of stamps of this length.
func mayHave(length int) ddb.Cond {
	return ddb.And(chains.Sum.Missing(), ddb.Or(chains.StampLen.Missing(), chains.StampLen.Eq(ddb.Int(int64(length)))))
}

// create makes a chain of c where none was created, none has ended, and what is stored (stamps that
// came before) is of the same incarnation and length. The stamps are put together; when it was last
// stamped stays.
//
// Lost response: the repeat finds a chain with our own incarnation. Another did it first: the same
// one is as good as ours. We die right after: a chain that times out.
//
// One UpdateItem, ALL_NEW; 1 write unit, and 1 of the index.
func (s *store) create(ctx context.Context, c chain) (chain, bool, error) {
	it := s.encode(c)
	do := make([]ddb.Action, 0, it.Len())
	for name, value := range it.All() {
		switch attr := ddb.Path(name); attr {
		case chains.Tag, chains.Version:
		case chains.Seen:
			do = append(do, attr.SetIfMissing(value))
		case chains.Stamps:
			do = append(do, attr.Add(value))
		default:
			do = append(do, attr.Set(value))
		}
	}
	return s.decoded(s.Upsert(ctx, "create", c.Tag, ddb.And(
		chains.Created.Missing(), chains.Recorded.Missing(), chains.IsSame(c.Incarnation), mayHave(c.StampLen)), do...))
}

// replace stores c in the place of what is left of another chain, if that is still stored: one of
// seen's incarnation that was never created or has expired; or, where seen was deleted, the one
// with its operation. Stamps that came before a creation have no incarnation: they stay.
//
// Lost response: the repeat finds our own chain. Another did it first: theirs is returned. We die
// right after: as with create.
//
// One PutItem; 1 write unit for each KB of the larger one, and 1 or 2 of the index.
func (s *store) replace(ctx context.Context, c, seen chain) (chain, bool, error) {
	isOver := chains.IsOver(seen.Incarnation, c.Created)
	if seen.Recorded == xorack.Deleted {
		isOver = chains.IsDeleted(seen.LastOp)
	}
	return s.decoded(s.Replace(ctx, s.encode(c), isOver))
}

type addition struct {
	tag string
	// marked is the stamp behind the 6 bytes that mark its operation.
	marked []byte
	// room is the most stamps that the chain may have before.
	room   int
	now    time.Time
	orphan time.Time
}

// add adds a stamp to a chain of stamps, if it is not ended, of stamps of this length, and has
// room. A stamp that is there is added again without effect.
//
// Lost response: the repeat changes nothing. Another did it first: the same. We die right after: if
// the chain is acked by it, the stream's handler and the sweep record that.
//
// One UpdateItem, ALL_NEW.
func (s *store) add(ctx context.Context, w addition) (chain, bool, error) {
	length := len(w.marked) - chains.StampMark
	return s.decoded(s.Upsert(ctx, "stamp", w.tag,
		ddb.And(chains.Recorded.Missing(), mayHave(length), ddb.Or(chains.Stamps.Missing(), chains.Stamps.SizeLe(w.room))),
		chains.StampLen.Set(ddb.Int(int64(length))), chains.Seen.Set(ddb.Millis(w.now)),
		chains.ExpiresOn.SetIfMissing(ddb.Seconds(w.orphan)), chains.Stamps.Add(ddb.Blobs(w.marked))))
}

// settle records that a chain is done, if it has no other stamps than the caller has seen:
// [chains.Settle].
func (s *store) settle(ctx context.Context, c chain, now time.Time) (chain, bool, error) {
	return s.decoded(s.Settle(ctx, c.Tag, c.Incarnation, len(c.Stamps), now))
}

// delete ends a chain of stamps as Deleted, if it is there and not deleted. Nothing is left to do
// for it then.
//
// Lost response: the repeat finds its own operation. Another did it first: the chain is deleted. We
// die right after: nothing is left to do.
//
// One UpdateItem, ALL_NEW; 1 write unit of the index.
func (s *store) delete(ctx context.Context, tag string, op [8]byte, now, expires time.Time) (chain, bool, error) {
	deleted := ddb.Text(string(xorack.Deleted))
	return s.decoded(s.Update(ctx, "delete stamps", tag, ddb.And(chains.StampLen.Exists(), chains.Recorded.Ne(deleted)),
		chains.Recorded.Set(deleted), chains.LastOp.Set(ddb.Blob(op[:])), chains.EndedAt.Set(ddb.Millis(now)),
		chains.ExpiresOn.Set(ddb.Seconds(expires)), chains.Due.Remove(), chains.DueShard.Remove()))
}
