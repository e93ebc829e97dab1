package stamps

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// chain is what is stored under a tag, as far as it matters to stamps: the zero
// chain for nothing.
type chain struct {
	tag         string
	incarnation [8]byte
	// length is that of the stamps, 0 for a chain of edges. stamps are they, each
	// behind the 6 bytes that mark its operation, sorted.
	length int
	stamps [][]byte
	// created is the zero time where stamps came before the chain; expires is to
	// the second, all others to the millisecond.
	created, deadline, seen, due, ended, expires time.Time
	// lastOp is the operation that ended it.
	lastOp   [8]byte
	recorded xorack.End
}

// has reports whether a stamp is there.
func (c chain) has(marked []byte) bool {
	_, found := slices.BinarySearchFunc(c.stamps, marked, bytes.Compare)
	return found
}

// xor is what the stamps come to: nil where there are none.
func (c chain) xor() []byte { return chains.XOR(c.stamps, c.length) }

// acked reports whether the stamps say that the chain is done, recorded or not.
func (c chain) acked() bool {
	return !c.created.IsZero() && len(c.stamps) > 0 && chains.IsZero(c.xor())
}

// encode is the item of a chain at its creation.
func (s *store) encode(c chain) ddb.Item {
	return ddb.Fields{
		s.Tag:              ddb.Text(c.tag),
		chains.Version:     ddb.Int(chains.Layout),
		chains.Incarnation: ddb.Blob(c.incarnation[:]),
		chains.StampLen:    ddb.Int(int64(c.length)),
		chains.Stamps:      ddb.Blobs(c.stamps...),
		chains.Created:     ddb.Millis(c.created),
		chains.Deadline:    ddb.Millis(c.deadline),
		chains.Seen:        ddb.Millis(c.seen),
		chains.Due:         ddb.Millis(c.due),
		chains.DueShard:    ddb.Int(chains.DueShardOf(c.tag)),
		chains.ExpiresOn:   ddb.Seconds(c.expires),
	}.Item()
}

// decoded is the answer to a request, with the item as a chain.
func (s *store) decoded(it ddb.Item, held bool, err error) (chain, bool, error) {
	if err != nil {
		return chain{}, false, err
	}
	c, err := ddb.Decoded(it, s.decode)
	return c, held && err == nil, err
}

func (s *store) decode(it ddb.Item) (chain, error) {
	if !it.Exists() {
		return chain{}, nil
	}
	d := chains.Decoder{Decoder: ddb.Decoder{Item: it}}
	d.Layout(chains.Version, chains.Layout)
	c := chain{
		tag:         d.Text(s.Tag),
		incarnation: d.Eight(chains.Incarnation),
		created:     d.MillisOr(chains.Created),
		deadline:    d.MillisOr(chains.Deadline),
		seen:        d.MillisOr(chains.Seen),
		due:         d.MillisOr(chains.Due),
		ended:       d.MillisOr(chains.EndedAt),
		expires:     d.SecondsOr(chains.ExpiresOn),
		lastOp:      d.Eight(chains.LastOp),
		recorded:    xorack.End(d.TextOr(chains.Recorded, "")),
	}
	c.length, c.stamps = d.MarkedStamps()
	if d.Err != nil {
		return chain{}, fmt.Errorf("chain: %w", d.Err)
	}
	return c, nil
}
