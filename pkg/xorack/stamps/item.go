package stamps

import (
	"bytes"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// chain is what is stored under a tag, as far as it matters to stamps: the zero chain for nothing.
type chain struct {
	xorack.Chain `ddb:",inline"`
}

func (c chain) has(marked []byte) bool {
	_, found := slices.BinarySearchFunc(c.Stamps, marked, bytes.Compare)
	return found
}

// acked reports whether the stamps say that the chain is done, recorded or not.
func (c chain) acked() bool {
	return c.IsCreated() && len(c.Stamps) > 0 && chains.IsZero(c.XOR())
}

var codec = ddb.NewCodec[chain]("chain", chains.Layout, chains.Layout)

// encode is the item of a chain at its creation. It has nothing of a chain of edges.
func (s *store) encode(c chain) ddb.Item {
	return codec.Item(&c, chains.Tag.Set(ddb.Text(c.Tag)), chains.DueShard.Set(ddb.Int(chains.DueShardOf(c.Tag))),
		chains.Sum.Remove(), chains.Edges.Remove(), chains.Options.Remove(), chains.LastOp.Remove())
}

func (s *store) decoded(it ddb.Item, held bool, err error) (chain, bool, error) {
	if err != nil {
		return chain{}, false, err
	}
	c, err := ddb.Decoded(it, s.decode)
	return c, held && err == nil, err
}

func (s *store) decode(it ddb.Item) (chain, error) {
	return codec.Decode(it, func(c *chain, d *ddb.Decoder) {
		c.Tag = d.Text(chains.Tag)
		chains.CheckStamps(d, c.StampLen, c.Stamps)
	})
}
