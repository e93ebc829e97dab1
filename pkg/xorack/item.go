package xorack

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

func opsValue(ops []Op) ddb.Value {
	set := make([][]byte, len(ops))
	for i, op := range ops {
		set[i] = op[:]
	}
	return ddb.Blobs(set...)
}

func splitsValue(splits []Split) ddb.Value {
	set := make([][]byte, len(splits))
	for i, split := range splits {
		set[i] = split[:]
	}
	return ddb.Blobs(set...)
}

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

// encode is the item of a chain of edges at its creation.
func (s *Store) encode(c Chain) ddb.Item {
	fields := ddb.Fields{
		s.table.Tag:        ddb.Text(c.Tag),
		chains.Version:     ddb.Int(chains.Layout),
		chains.Incarnation: ddb.Blob(c.Incarnation[:]),
		chains.Created:     ddb.Millis(c.Created),
		chains.Deadline:    ddb.Millis(c.Deadline),
		chains.Seen:        ddb.Millis(c.Seen),
		chains.Due:         ddb.Millis(c.Due),
		chains.DueShard:    ddb.Int(chains.DueShardOf(c.Tag)),
		chains.ExpiresOn:   ddb.Seconds(c.ExpiresOn),
	}
	if c.Idle > 0 {
		fields[chains.Idle] = ddb.Int(c.Idle.Milliseconds())
	}
	if !c.Parent.IsZero() {
		fields[chains.Parent] = parentValue(c.Parent, c.Sub)
	}
	if c.Data != "" {
		fields[chains.Data] = ddb.Text(c.Data)
	}
	fields[chains.Sum], fields[chains.Edges] = c.Sum.value(), ddb.Int(c.Edges)
	fields[chains.Options], fields[chains.LastOp] = ddb.Blob(c.Options[:]), ddb.Blob(c.LastOp[:])
	return fields.Item()
}

// decodeChain takes an item or a stream image; the zero Chain for none.
func decodeChain(it ddb.Item, tagKey ddb.Path) (Chain, error) {
	if !it.Exists() {
		return Chain{}, nil
	}
	d := chains.Decoder{Decoder: ddb.Decoder{Item: it}}
	d.Layout(chains.Version, chains.Layout)
	c := Chain{
		Tag:         d.Text(tagKey),
		Incarnation: Incarnation(d.Eight(chains.Incarnation)),
		Edges:       d.NumberOr(chains.Edges, 0),
		Created:     d.MillisOr(chains.Created),
		Options:     d.Eight(chains.Options),
		Deadline:    d.MillisOr(chains.Deadline),
		Idle:        time.Duration(d.NumberOr(chains.Idle, 0)) * time.Millisecond,
		Seen:        d.MillisOr(chains.Seen),
		Due:         d.MillisOr(chains.Due),
		LastOp:      Op(d.Eight(chains.LastOp)),
		Recorded:    End(d.TextOr(chains.Recorded, "")),
		Reason:      d.TextOr(chains.Reason, ""),
		EndedAt:     d.MillisOr(chains.EndedAt),
		ExpiresOn:   d.SecondsOr(chains.ExpiresOn),
		Data:        d.TextOr(chains.Data, ""),
	}
	c.Sum.Hi, c.Sum.Lo = d.Number128(chains.Sum)
	for _, op := range d.Set(chains.Ops, len(Op{})) {
		c.Ops = append(c.Ops, Op(op))
	}
	for _, split := range d.Set(chains.Splits, len(Split{})) {
		c.Splits = append(c.Splits, Split(split))
	}
	c.StampLen, c.Stamps = d.MarkedStamps()
	c.Parent, c.Sub = parentOf(&d)
	if d.Err != nil {
		return Chain{}, fmt.Errorf("chain: %w", d.Err)
	}
	return c, nil
}

// parentOf reads the edge of another chain that ends with this one.
func parentOf(d *chains.Decoder) (parent Edge, sub bool) {
	value := d.BytesOr(chains.Parent)
	if value == nil {
		return Edge{}, false
	}
	if len(value) <= parentHead {
		d.Fail(chains.Parent, "is not an edge")
		return Edge{}, false
	}
	parent = Edge{tag: string(value[parentHead:]), inc: Incarnation(value[1:9]), id: [12]byte(value[9:parentHead])}
	return parent, value[0] == parentSub
}
