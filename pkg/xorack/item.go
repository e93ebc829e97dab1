package xorack

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// layout is the version of the items' layout, kept in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and
// refuses newer ones ([table.ErrNewerLayout]); so does a writer, in its condition.
// Adding an attribute that older versions may ignore does not raise the
// version; giving an attribute another meaning does.
const layout = 1

// The attributes of the items, all but the key. Their names are short because
// a chain of 100 edges is to fit into one write unit.
const (
	attrVersion     ddb.Path = "v"
	attrIncarnation ddb.Path = "inc"
	attrSum         ddb.Path = "n"
	attrOps         ddb.Path = "ops"
	attrSplits      ddb.Path = "kids"
	attrEdges       ddb.Path = "edges"
	attrStampLen    ddb.Path = "stampLen"
	attrStamps      ddb.Path = "stamps"
	attrCreated     ddb.Path = "created" // ms
	attrOptions     ddb.Path = "cd"
	attrDeadline    ddb.Path = "deadline" // ms
	attrIdle        ddb.Path = "idle"     // ms
	attrSeen        ddb.Path = "seen"     // ms
	attrDue         ddb.Path = "due"      // ms
	attrDueShard    ddb.Path = "dueShard"
	attrLastOp      ddb.Path = "lastOp"
	attrRecorded    ddb.Path = "st"
	attrReason      ddb.Path = "reason"
	attrEndedAt     ddb.Path = "endedAt"   // ms
	attrExpiresOn   ddb.Path = "expiresOn" // s, the TTL attribute
	attrParent      ddb.Path = "parent"
	attrData        ddb.Path = "data"
)

var fixedAttributes = []ddb.Path{
	attrVersion, attrIncarnation, attrSum, attrOps, attrSplits, attrEdges, attrStampLen, attrStamps, attrCreated, attrOptions,
	attrDeadline, attrIdle, attrSeen, attrDue, attrDueShard, attrLastOp, attrRecorded, attrReason, attrEndedAt,
	attrExpiresOn, attrParent, attrData,
}

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

// encode is the item of a chain at its creation.
func (s *Store) encode(c Chain) ddb.Item {
	fields := ddb.Fields{
		s.tagKey:        ddb.Text(c.Tag),
		attrVersion:     ddb.Int(layout),
		attrIncarnation: ddb.Blob(c.Incarnation[:]),
		attrCreated:     ddb.Millis(c.Created),
		attrDeadline:    ddb.Millis(c.Deadline),
		attrSeen:        ddb.Millis(c.Seen),
		attrDue:         ddb.Millis(c.Due),
		attrDueShard:    ddb.Int(dueShard(c.Tag)),
		attrExpiresOn:   ddb.Seconds(c.ExpiresOn),
	}
	if c.Idle > 0 {
		fields[attrIdle] = ddb.Int(c.Idle.Milliseconds())
	}
	if !c.Parent.IsZero() {
		fields[attrParent] = parentValue(c.Parent, c.Sub)
	}
	if c.Data != "" {
		fields[attrData] = ddb.Text(c.Data)
	}
	if c.HasStamps() {
		fields[attrStampLen], fields[attrStamps] = ddb.Int(int64(c.StampLen)), ddb.Blobs(c.Stamps...)
		return fields.Item()
	}
	fields[attrSum], fields[attrEdges] = c.Sum.value(), ddb.Int(c.Edges)
	fields[attrOptions], fields[attrLastOp] = ddb.Blob(c.Options[:]), ddb.Blob(c.LastOp[:])
	return fields.Item()
}

// decodeChain takes an item or a stream image; the zero Chain for none.
func decodeChain(it ddb.Item, tagKey ddb.Path) (Chain, error) {
	if !it.Exists() {
		return Chain{}, nil
	}
	d := decoder{ddb.Decoder{Item: it}}
	d.Layout(attrVersion, layout)
	c := Chain{
		Tag:         d.Text(tagKey),
		Incarnation: Incarnation(d.eight(attrIncarnation)),
		Edges:       d.NumberOr(attrEdges, 0),
		StampLen:    int(d.NumberOr(attrStampLen, 0)),
		Created:     d.MillisOr(attrCreated),
		Options:     d.eight(attrOptions),
		Deadline:    d.MillisOr(attrDeadline),
		Idle:        time.Duration(d.NumberOr(attrIdle, 0)) * time.Millisecond,
		Seen:        d.MillisOr(attrSeen),
		Due:         d.MillisOr(attrDue),
		LastOp:      Op(d.eight(attrLastOp)),
		Recorded:    End(d.TextOr(attrRecorded, "")),
		Reason:      d.TextOr(attrReason, ""),
		EndedAt:     d.MillisOr(attrEndedAt),
		ExpiresOn:   d.SecondsOr(attrExpiresOn),
		Data:        d.TextOr(attrData, ""),
	}
	c.Sum.Hi, c.Sum.Lo = d.Number128(attrSum)
	for _, op := range d.set(attrOps, len(Op{})) {
		c.Ops = append(c.Ops, Op(op))
	}
	for _, split := range d.set(attrSplits, len(Split{})) {
		c.Splits = append(c.Splits, Split(split))
	}
	c.Stamps = d.set(attrStamps, stampMark+c.StampLen)
	c.Parent, c.Sub = d.parent()
	if d.Err != nil {
		return Chain{}, fmt.Errorf("chain: %w", d.Err)
	}
	return c, nil
}

// decoder reads what only chains have.
type decoder struct{ ddb.Decoder }

func (d *decoder) eight(name ddb.Path) (eight [8]byte) {
	value := d.BytesOr(name)
	if value != nil && len(value) != len(eight) {
		d.Fail(name, "is not of 8 bytes")
		return eight
	}
	copy(eight[:], value)
	return eight
}

// set reads a set of members of one length that may be missing, sorted.
func (d *decoder) set(name ddb.Path, length int) [][]byte {
	members := d.MembersOr(name)
	for _, member := range members {
		if len(member) != length {
			d.Fail(name, fmt.Sprintf("has a member that is not of %d bytes", length))
			return nil
		}
	}
	return members
}

func (d *decoder) parent() (parent Edge, sub bool) {
	value := d.BytesOr(attrParent)
	if value == nil {
		return Edge{}, false
	}
	if len(value) <= parentHead {
		d.Fail(attrParent, "is not an edge")
		return Edge{}, false
	}
	parent = Edge{tag: string(value[parentHead:]), inc: Incarnation(value[1:9]), id: [12]byte(value[9:parentHead])}
	return parent, value[0] == parentSub
}
