package cursor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// layout is the version of the items' layout, kept in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and
// refuses newer ones ([ErrNewerLayout]). Adding an attribute that older
// versions may ignore does not raise the version; giving an attribute another
// meaning does.
const layout = 1

// The attributes of the items, all but the keys. Expressions name them through
// placeholders, for several are words that DynamoDB keeps for itself.
const (
	attrVersion = "v"

	attrID          = "id"
	attrBody        = "body"
	attrContentType = "contentType"
	attrAttributes  = "attributes"
	attrDigest      = "digest"
	attrEnqueuedAt  = "enqueuedAt" // ms
	attrExpiresOn   = "expiresOn"  // s, the TTL attribute
	attrTombstone   = "tombstone"
	attrOp          = "op"

	attrFirst     = "first"
	attrPosition  = "position"
	attrParked    = "parked"
	attrGapSince  = "gapSince" // ms
	attrChange    = "change"
	attrPolicy    = "policy"
	attrGapAfter  = "gapAfter" // ms
	attrMaxAhead  = "maxAhead"
	attrMode      = "mode"
	attrAnnounced = "announced"
	attrFloor     = "floor"
	attrNudged    = "nudged" // ms

	attrSweepName = "name"
	attrAfter     = "after"
	attrBegan     = "began"    // ms
	attrBefore    = "before"   // ms
	attrFinished  = "finished" // ms
)

var fixedAttributes = []string{
	attrVersion, attrID, attrBody, attrContentType, attrAttributes, attrDigest, attrEnqueuedAt, attrExpiresOn,
	attrTombstone, attrOp, attrFirst, attrPosition, attrParked, attrGapSince, attrChange, attrPolicy, attrGapAfter,
	attrMaxAhead, attrMode, attrAnnounced, attrFloor, attrNudged,
}

// The values of a cursor's "change": what the last write to it was. Event
// source mappings filter on it.
const (
	changeAdvance = "advance"
	changePark    = "park"
	changeOther   = "other"
)

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func blob(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func millis(t time.Time) types.AttributeValue { return number(t.UnixMilli()) }

// decoder reads attributes and keeps the first error, so that an item is
// decoded in one go and checked once.
type decoder struct {
	item item
	err  error
}

func (d *decoder) fail(name, problem string) {
	if d.err == nil {
		d.err = fmt.Errorf("attribute %q %s", name, problem)
	}
}

// text reads a string that must be there.
func (d *decoder) text(name string) string {
	s, ok := d.item[name].(*types.AttributeValueMemberS)
	if !ok {
		d.fail(name, "is missing or not a string")
		return ""
	}
	return s.Value
}

// textOr reads a string that may be missing.
func (d *decoder) textOr(name, otherwise string) string {
	if _, ok := d.item[name]; !ok {
		return otherwise
	}
	return d.text(name)
}

// number reads an integer that must be there.
func (d *decoder) number(name string) int64 {
	n, ok := d.item[name].(*types.AttributeValueMemberN)
	if !ok {
		d.fail(name, "is missing or not a number")
		return 0
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		d.fail(name, "is not a 64-bit integer")
	}
	return value
}

// numberOr reads an integer that may be missing.
func (d *decoder) numberOr(name string, otherwise int64) int64 {
	if _, ok := d.item[name]; !ok {
		return otherwise
	}
	return d.number(name)
}

// millisOr reads a time that may be missing: the zero time then.
func (d *decoder) millisOr(name string) time.Time {
	if _, ok := d.item[name]; !ok {
		return time.Time{}
	}
	return time.UnixMilli(d.number(name)).UTC()
}

// bytesOr reads bytes that may be missing: nil then.
func (d *decoder) bytesOr(name string) []byte {
	value, ok := d.item[name]
	if !ok {
		return nil
	}
	b, ok := value.(*types.AttributeValueMemberB)
	if !ok {
		d.fail(name, "is not binary")
		return nil
	}
	return b.Value
}

// layout checks the item's version.
func (d *decoder) layout() {
	if v := d.number(attrVersion); d.err == nil && v > layout {
		d.err = fmt.Errorf("%w: layout %d, and this one knows %d", ErrNewerLayout, v, layout)
	}
}

func encodeMessage(m Message, names Names) item {
	it := item{
		names.QueueKey: text(m.Queue),
		names.SeqKey:   number(m.Seq),
		attrVersion:    number(layout),
		attrOp:         blob(m.Op),
		attrEnqueuedAt: millis(m.EnqueuedAt),
	}
	if !m.ExpiresOn.IsZero() {
		it[attrExpiresOn] = number(m.ExpiresOn.Unix())
	}
	if m.Tombstone != "" {
		it[attrTombstone] = text(m.Tombstone)
		return it
	}
	it[attrDigest] = blob(m.Digest)
	if len(m.Body) > 0 {
		it[attrBody] = blob(m.Body)
	}
	if m.ID != "" {
		it[attrID] = text(m.ID)
	}
	if m.contentType() != DefaultContentType {
		it[attrContentType] = text(m.ContentType)
	}
	if len(m.Attributes) > 0 {
		attributes := make(item, len(m.Attributes))
		for name, value := range m.Attributes {
			attributes[name] = text(value)
		}
		it[attrAttributes] = &types.AttributeValueMemberM{Value: attributes}
	}
	return it
}

// decodeMessage takes whole messages and heads.
func decodeMessage(it item, names Names) (Message, error) {
	d := decoder{item: it}
	d.layout()
	m := Message{
		Queue:       d.text(names.QueueKey),
		Seq:         d.number(names.SeqKey),
		ID:          d.textOr(attrID, ""),
		Body:        d.bytesOr(attrBody),
		ContentType: d.textOr(attrContentType, ""),
		EnqueuedAt:  d.millisOr(attrEnqueuedAt),
		Tombstone:   d.textOr(attrTombstone, ""),
		Digest:      d.bytesOr(attrDigest),
		Op:          d.bytesOr(attrOp),
	}
	if seconds := d.numberOr(attrExpiresOn, 0); seconds != 0 {
		m.ExpiresOn = time.Unix(seconds, 0).UTC()
	}
	if value, ok := it[attrAttributes]; ok {
		attributes, ok := value.(*types.AttributeValueMemberM)
		if !ok {
			d.fail(attrAttributes, "is not a map")
			return m, d.err
		}
		m.Attributes = make(map[string]string, len(attributes.Value))
		inner := decoder{item: attributes.Value}
		for _, name := range slices.Sorted(maps.Keys(attributes.Value)) {
			m.Attributes[name] = inner.text(name)
		}
		if inner.err != nil && d.err == nil {
			d.err = inner.err
		}
	}
	return m, d.err
}

func encodeCursor(c Cursor, names Names) item {
	it := item{
		names.QueueKey: text(c.Queue),
		attrVersion:    number(layout),
		attrFirst:      number(c.Settings.First),
		attrPosition:   number(c.Position),
		attrParked:     number(c.Parked),
		attrGapSince:   millis(c.GapSince),
		attrChange:     text(changeOther),
		attrPolicy:     text(string(c.Settings.Policy)),
		attrGapAfter:   number(c.Settings.GapAfter.Milliseconds()),
		attrMaxAhead:   number(c.Settings.MaxAhead),
		attrMode:       text(string(c.Settings.Mode)),
	}
	if c.Announced != noneAnnounced {
		it[attrAnnounced] = number(c.Announced)
	}
	if c.Floor != c.Settings.First-1 {
		it[attrFloor] = number(c.Floor)
	}
	if !c.Nudged.IsZero() {
		it[attrNudged] = millis(c.Nudged)
	}
	return it
}

// decodeCursor takes an item or a stream image; the zero Cursor for none.
func decodeCursor(it item, names Names) (Cursor, error) {
	if len(it) == 0 {
		return Cursor{}, nil
	}
	d := decoder{item: it}
	d.layout()
	c := Cursor{
		Queue: d.text(names.QueueKey),
		Settings: Settings{
			First:    d.number(attrFirst),
			Policy:   Policy(d.text(attrPolicy)),
			GapAfter: time.Duration(d.number(attrGapAfter)) * time.Millisecond,
			MaxAhead: d.number(attrMaxAhead),
			Mode:     Mode(d.text(attrMode)),
		},
		Position:  d.number(attrPosition),
		Parked:    d.number(attrParked),
		GapSince:  d.millisOr(attrGapSince),
		Announced: d.numberOr(attrAnnounced, noneAnnounced),
		Nudged:    d.millisOr(attrNudged),
	}
	c.Floor = d.numberOr(attrFloor, c.Settings.First-1)
	if d.err != nil {
		return Cursor{}, fmt.Errorf("cursor: %w", d.err)
	}
	return c, nil
}
