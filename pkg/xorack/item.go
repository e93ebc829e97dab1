package xorack

import (
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// The kinds of parent: a chain of its own, or a part of the parent's tree.
const (
	parentNested = 'n'
	parentSub    = 's'
)

// parentHead is the bytes of a parent before its tag: kind, incarnation, id.
const parentHead = 1 + 8 + 12

func parentValue(parent Edge, sub bool) ddb.Value {
	kind := byte(parentNested)
	if sub {
		kind = parentSub
	}
	value := append([]byte{kind}, parent.inc[:]...)
	value = append(value, parent.id[:]...)
	return ddb.Blob(append(value, parent.tag...))
}

var codec = ddb.NewCodec[Chain]("chain", chains.Layout, chains.Layout)

// encode is the item of a chain at its creation.
func (s *Store) encode(c Chain) ddb.Item {
	beside := []ddb.Action{chains.Tag.Set(ddb.Text(c.Tag)),
		chains.DueShard.Set(ddb.Int(chains.DueShardOf(c.Tag)))}
	if !c.Parent.IsZero() {
		beside = append(beside, chains.Parent.Set(parentValue(c.Parent, c.Sub)))
	}
	if c.HasStamps() {
		// Each byte that the record does not have makes room for stamps in its first KB.
		for _, ofEdges := range []ddb.Path{chains.Sum, chains.Edges, chains.Options, chains.LastOp} {
			beside = append(beside, ofEdges.Remove())
		}
	}
	return codec.Item(&c, beside...)
}

// decodeChain takes an item or a stream image; the zero Chain for none.
func decodeChain(it ddb.Item) (Chain, error) {
	return codec.Decode(it, func(c *Chain, d *ddb.Decoder) {
		c.Tag = d.Text(chains.Tag)
		c.Parent, c.Sub = parentOf(d)
		c.checkStamps(d)
	})
}

// checkStamps checks the stamps of a chain that is read, each behind its mark, and their length: 0
// for a chain of edges.
func (c *Chain) checkStamps(d *ddb.Decoder) {
	if c.StampLen < 0 {
		d.Fail(chains.StampLen, "is less than 0")
	}
	for _, stamp := range c.Stamps {
		if bytes := chains.StampMark + c.StampLen; len(stamp) != bytes {
			d.Fail(chains.Stamps, fmt.Sprintf("has a member that is not of %d bytes", bytes))
		}
	}
}

// parentOf reads the edge of another chain that ends with this one.
func parentOf(d *ddb.Decoder) (parent Edge, sub bool) {
	value := d.BytesOr(chains.Parent)
	if value == nil {
		return Edge{}, false
	}
	if len(value) <= parentHead {
		d.Fail(chains.Parent, "is not an edge")
		return Edge{}, false
	}
	parent = Edge{tag: string(value[parentHead:]), inc: Incarnation(value[1:9]),
		id: [12]byte(value[9:parentHead])}
	return parent, value[0] == parentSub
}
