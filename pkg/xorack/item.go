package xorack

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// layout is the version of the items' layout, kept in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and
// refuses newer ones ([ErrNewerLayout]); so does a writer, in its condition.
// Adding an attribute that older versions may ignore does not raise the
// version; giving an attribute another meaning does.
const layout = 1

// The attributes of the items, all but the key. Their names are short because
// a chain of 100 edges is to fit into one write unit.
const (
	attrVersion     = "v"
	attrIncarnation = "inc"
	attrSum         = "n"
	attrOps         = "ops"
	attrSplits      = "kids"
	attrEdges       = "edges"
	attrStampLen    = "stampLen"
	attrStamps      = "stamps"
	attrCreated     = "created" // ms
	attrOptions     = "cd"
	attrDeadline    = "deadline" // ms
	attrIdle        = "idle"     // ms
	attrSeen        = "seen"     // ms
	attrDue         = "due"      // ms
	attrDueShard    = "dueShard"
	attrLastOp      = "lastOp"
	attrRecorded    = "st"
	attrReason      = "reason"
	attrEndedAt     = "endedAt"   // ms
	attrExpiresOn   = "expiresOn" // s, the TTL attribute
	attrParent      = "parent"
	attrData        = "data"
)

var fixedAttributes = []string{
	attrVersion, attrIncarnation, attrSum, attrOps, attrSplits, attrEdges, attrStampLen, attrStamps, attrCreated, attrOptions,
	attrDeadline, attrIdle, attrSeen, attrDue, attrDueShard, attrLastOp, attrRecorded, attrReason, attrEndedAt,
	attrExpiresOn, attrParent, attrData,
}

// item is an item, a key or an image.
type item = dynamo.Item

func sumValue(s Sum) types.AttributeValue { return &types.AttributeValueMemberN{Value: s.String()} }

func opsValue(ops []Op) types.AttributeValue {
	set := make([][]byte, len(ops))
	for i, op := range ops {
		set[i] = op[:]
	}
	return &types.AttributeValueMemberBS{Value: set}
}

func splitsValue(splits []Split) types.AttributeValue {
	set := make([][]byte, len(splits))
	for i, split := range splits {
		set[i] = split[:]
	}
	return &types.AttributeValueMemberBS{Value: set}
}

// The kinds of parent: a chain of its own, or a part of the parent's tree.
const (
	parentNested = 'n'
	parentSub    = 's'
)

// parentHead is the bytes of a parent before its tag: kind, incarnation, id.
const parentHead = 1 + 8 + 12

func parentValue(parent Edge, sub bool) types.AttributeValue {
	kind := byte(parentNested)
	if sub {
		kind = parentSub
	}
	value := append([]byte{kind}, parent.inc[:]...)
	value = append(value, parent.id[:]...)
	return dynamo.Blob(append(value, parent.tag...))
}

// encodeChain is the item of a chain that is created whole.
func encodeChain(c Chain, names Names) item {
	it := item{
		names.TagKey:    dynamo.Text(c.Tag),
		attrVersion:     dynamo.Number(layout),
		attrIncarnation: dynamo.Blob(c.Incarnation[:]),
		attrCreated:     dynamo.Millis(c.Created),
		attrDeadline:    dynamo.Millis(c.Deadline),
		attrSeen:        dynamo.Millis(c.Seen),
		attrDue:         dynamo.Millis(c.Due),
		attrDueShard:    dynamo.Number(dueShard(c.Tag)),
		attrExpiresOn:   dynamo.Number(c.ExpiresOn.Unix()),
	}
	if c.Idle > 0 {
		it[attrIdle] = dynamo.Number(c.Idle.Milliseconds())
	}
	if !c.Parent.IsZero() {
		it[attrParent] = parentValue(c.Parent, c.Sub)
	}
	if c.Data != "" {
		it[attrData] = dynamo.Text(c.Data)
	}
	if c.HasStamps() {
		it[attrStampLen] = dynamo.Number(int64(c.StampLen))
		it[attrStamps] = &types.AttributeValueMemberBS{Value: c.Stamps}
		return it
	}
	it[attrSum], it[attrEdges] = sumValue(c.Sum), dynamo.Number(c.Edges)
	it[attrOptions], it[attrLastOp] = dynamo.Blob(c.Options[:]), dynamo.Blob(c.LastOp[:])
	return it
}

// decodeChain takes an item or a stream image; the zero Chain for none.
func decodeChain(it item, names Names) (Chain, error) {
	if len(it) == 0 {
		return Chain{}, nil
	}
	d := decoder{dynamo.Decoder{Item: it}}
	d.Layout(attrVersion, layout, ErrNewerLayout)
	c := Chain{
		Tag:         d.Text(names.TagKey),
		Incarnation: Incarnation(d.eight(attrIncarnation)),
		Sum:         d.sum(),
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
		Data:        d.TextOr(attrData, ""),
	}
	for _, op := range d.set(attrOps) {
		if len(op) != len(Op{}) {
			d.Fail(attrOps, "has an operation that is not of 8 bytes")
			break
		}
		c.Ops = append(c.Ops, Op(op))
	}
	for _, split := range d.set(attrSplits) {
		if len(split) != len(Split{}) {
			d.Fail(attrSplits, "has one that is not of 4 bytes")
			break
		}
		c.Splits = append(c.Splits, Split(split))
	}
	for _, stamp := range d.set(attrStamps) {
		if len(stamp) != stampMark+c.StampLen {
			d.Fail(attrStamps, "has a stamp of another length")
			break
		}
		c.Stamps = append(c.Stamps, stamp)
	}
	if s := d.NumberOr(attrExpiresOn, 0); s != 0 {
		c.ExpiresOn = time.Unix(s, 0).UTC()
	}
	c.Parent, c.Sub = d.parent()
	if d.Err != nil {
		return Chain{}, fmt.Errorf("chain: %w", d.Err)
	}
	return c, nil
}

// decoder reads what only chains have.
type decoder struct{ dynamo.Decoder }

func (d *decoder) eight(name string) (eight [8]byte) {
	value := d.BytesOr(name)
	if value != nil && len(value) != len(eight) {
		d.Fail(name, "is not of 8 bytes")
		return eight
	}
	copy(eight[:], value)
	return eight
}

func (d *decoder) sum() Sum {
	value, ok := d.Item[attrSum]
	if !ok {
		return Sum{}
	}
	n, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		d.Fail(attrSum, "is not a number")
		return Sum{}
	}
	s, err := parseSum(n.Value)
	if err != nil {
		d.Fail(attrSum, err.Error())
	}
	return s
}

// set reads a set of bytes that may be missing, sorted.
func (d *decoder) set(name string) [][]byte {
	value, ok := d.Item[name]
	if !ok {
		return nil
	}
	set, ok := value.(*types.AttributeValueMemberBS)
	if !ok {
		d.Fail(name, "is not a set of bytes")
		return nil
	}
	slices.SortFunc(set.Value, bytes.Compare)
	return set.Value
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
