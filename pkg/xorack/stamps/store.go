package stamps

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// store makes the requests that only chains of stamps have: each method one. As with
// [xorack.Store], a write answers with the chain that is stored afterwards and whether this request
// changed it, and changes no item of a newer layout: [table.ErrNewerLayout].
type store struct{ *chains.Base[xorack.Chain] }

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
func (s *store) add(ctx context.Context, w addition) (xorack.Chain, bool, error) {
	length := len(w.marked) - chains.StampMark
	hasRoom := ddb.Or(chains.Stamps.Missing(), chains.Stamps.SizeLe(w.room))
	return s.Decoded(s.Upsert(ctx, "stamp", w.tag,
		ddb.And(chains.Recorded.Missing(), chains.MayHave(length), hasRoom),
		chains.StampLen.Set(ddb.Int(int64(length))), chains.Seen.Set(ddb.Millis(w.now)),
		chains.ExpiresOn.SetIfMissing(ddb.Seconds(w.orphan)), chains.Stamps.Add(ddb.Blobs(w.marked))))
}

// delete ends a chain of stamps as Deleted, if it is there and not deleted. Nothing is left to do
// for it then.
//
// Lost response: the repeat finds its own operation. Another did it first: the chain is deleted. We
// die right after: nothing is left to do.
//
// One UpdateItem, ALL_NEW; 1 write unit of the index.
func (s *store) delete(
	ctx context.Context, tag string, op [8]byte, now, expires time.Time,
) (xorack.Chain, bool, error) {
	deleted := ddb.Text(string(xorack.Deleted))
	isLeft := ddb.And(chains.StampLen.Exists(), chains.Recorded.Ne(deleted))
	return s.Decoded(s.Update(ctx, "delete stamps", tag, isLeft,
		chains.Recorded.Set(deleted), chains.LastOp.Set(ddb.Blob(op[:])),
		chains.EndedAt.Set(ddb.Millis(now)),
		chains.ExpiresOn.Set(ddb.Seconds(expires)), chains.Due.Remove(), chains.DueShard.Remove()))
}
