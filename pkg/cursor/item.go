package cursor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// layout is the version of the items' layout, kept in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and
// refuses newer ones ([ErrNewerLayout]). Adding an attribute that older
// versions may ignore does not raise the version; giving an attribute another
// meaning does.
//
// Layout 2 has queues in arrival order: their cursors, order items and arrivals.
// All others are written in layout 1 still.
const (
	layout        = 2
	layoutOld     = 1
	layoutArrival = 2
)

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
	attrFloorAt   = "floorSince" // ms
	attrNudged    = "nudged"     // ms
	attrTailFrom  = "tailFrom"
	attrTail      = "tail"

	attrPrintsFrom = "printsFrom"
	attrPrints     = "prints"

	attrEntries   = "entries" // of an order item
	attrIDHash    = "idHash"
	attrSeen      = "seen"
	attrMessageID = "messageId"
	attrCount     = "count"
	attrFrames    = "frames"
	attrDeflated  = "deflated" // frames

	attrSweepName = "name"
	attrAfter     = "after"
	attrBegan     = "began"    // ms
	attrBefore    = "before"   // ms
	attrFinished  = "finished" // ms
)

var fixedAttributes = []string{
	attrVersion, attrID, attrBody, attrContentType, attrAttributes, attrDigest, attrEnqueuedAt, attrExpiresOn,
	attrTombstone, attrOp, attrFirst, attrPosition, attrParked, attrGapSince, attrChange, attrPolicy, attrGapAfter,
	attrMaxAhead, attrMode, attrAnnounced, attrFloor, attrFloorAt, attrNudged, attrTailFrom, attrTail,
	attrPrintsFrom, attrPrints, attrEntries, attrIDHash, attrSeen, attrMessageID, attrCount, attrFrames, attrDeflated,
}

// The values of a cursor's "change": what the last write to it was. Event
// source mappings filter on it.
const (
	changeAdvance = "advance"
	changePark    = "park"
	changeOther   = "other"
)

// item is an item, a key or an image.
type item = dynamo.Item

// checkLayout checks the item's version.
func checkLayout(d *dynamo.Decoder) { d.Layout(attrVersion, layout, ErrNewerLayout) }

func encodeMessage(m Message, names Names) item {
	it := item{
		names.QueueKey: dynamo.Text(m.Queue),
		names.SeqKey:   dynamo.Number(m.Seq),
		attrVersion:    dynamo.Number(layoutOld),
		attrOp:         dynamo.Blob(m.Op),
		attrEnqueuedAt: dynamo.Millis(m.EnqueuedAt),
	}
	if !m.ExpiresOn.IsZero() {
		it[attrExpiresOn] = dynamo.Number(m.ExpiresOn.Unix())
	}
	if m.Tombstone != "" {
		it[attrTombstone] = dynamo.Text(m.Tombstone)
		return it
	}
	it[attrDigest] = dynamo.Blob(m.Digest)
	if m.ID != "" {
		it[attrID] = dynamo.Text(m.ID)
	}
	encodeContent(it, m)
	return it
}

// encodeContent writes what a producer hands in beside names.
func encodeContent(it item, m Message) {
	if len(m.Body) > 0 {
		it[attrBody] = dynamo.Blob(m.Body)
	}
	if m.contentType() != DefaultContentType {
		it[attrContentType] = dynamo.Text(m.ContentType)
	}
	if len(m.Attributes) > 0 {
		attributes := make(item, len(m.Attributes))
		for name, value := range m.Attributes {
			attributes[name] = dynamo.Text(value)
		}
		it[attrAttributes] = dynamo.Map(attributes)
	}
}

// decodeMessage takes whole messages and heads.
func decodeMessage(it item, names Names) (Message, error) {
	d := dynamo.Decoder{Item: it}
	checkLayout(&d)
	m := Message{
		Queue:      d.Text(names.QueueKey),
		Seq:        d.Number(names.SeqKey),
		ID:         d.TextOr(attrID, ""),
		EnqueuedAt: d.MillisOr(attrEnqueuedAt),
		ExpiresOn:  decodeExpiry(&d),
		Tombstone:  d.TextOr(attrTombstone, ""),
		Digest:     d.BytesOr(attrDigest),
		Op:         d.BytesOr(attrOp),
	}
	decodeContent(&d, &m)
	return m, d.Err
}

// decodeExpiry is when an item may be deleted; the zero time for never.
func decodeExpiry(d *dynamo.Decoder) time.Time {
	seconds := d.NumberOr(attrExpiresOn, 0)
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// decodeContent reads what encodeContent wrote.
func decodeContent(d *dynamo.Decoder, m *Message) {
	m.Body, m.ContentType = d.BytesOr(attrBody), d.TextOr(attrContentType, "")
	if attributes := d.MapOr(attrAttributes); attributes != nil {
		m.Attributes = make(map[string]string, len(attributes))
		inner := dynamo.Decoder{Item: attributes}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			m.Attributes[name] = inner.Text(name)
		}
		if inner.Err != nil && d.Err == nil {
			d.Err = inner.Err
		}
	}
}

func encodeCursor(c Cursor, names Names) item {
	it := item{
		names.QueueKey: dynamo.Text(c.Queue),
		attrVersion:    dynamo.Number(layoutOld),
		attrFirst:      dynamo.Number(c.Settings.First),
		attrPosition:   dynamo.Number(c.Position),
		attrParked:     dynamo.Number(c.Parked),
		attrGapSince:   dynamo.Millis(c.GapSince),
		attrChange:     dynamo.Text(changeOther),
		attrPolicy:     dynamo.Text(string(c.Settings.Policy)),
		attrGapAfter:   dynamo.Number(c.Settings.GapAfter.Milliseconds()),
		attrMaxAhead:   dynamo.Number(c.Settings.MaxAhead),
		attrMode:       dynamo.Text(string(c.Settings.Mode)),
	}
	if c.Announced != noneAnnounced {
		it[attrAnnounced] = dynamo.Number(c.Announced)
	}
	if c.Floor != c.Settings.First-1 {
		it[attrFloor] = dynamo.Number(c.Floor)
	}
	if !c.FloorSince.IsZero() {
		it[attrFloorAt] = dynamo.Millis(c.FloorSince)
	}
	if !c.Nudged.IsZero() {
		it[attrNudged] = dynamo.Millis(c.Nudged)
	}
	if c.Settings.Kind == KindArrival {
		it[attrVersion] = dynamo.Number(layoutArrival)
		it[attrTailFrom] = dynamo.Number(c.TailFrom)
		it[attrTail] = encodeTail(c.Tail)
		it[attrPrintsFrom] = dynamo.Number(c.PrintsFrom)
		it[attrPrints] = dynamo.Text(string(c.Prints))
	}
	return it
}

// decodeCursor takes an item or a stream image; the zero Cursor for none.
func decodeCursor(it item, names Names) (Cursor, error) {
	if len(it) == 0 {
		return Cursor{}, nil
	}
	d := dynamo.Decoder{Item: it}
	checkLayout(&d)
	c := Cursor{
		Queue: d.Text(names.QueueKey),
		Settings: Settings{
			First:    d.Number(attrFirst),
			Policy:   Policy(d.Text(attrPolicy)),
			GapAfter: time.Duration(d.Number(attrGapAfter)) * time.Millisecond,
			MaxAhead: d.Number(attrMaxAhead),
			Mode:     Mode(d.Text(attrMode)),
		},
		Position:   d.Number(attrPosition),
		Parked:     d.Number(attrParked),
		GapSince:   d.MillisOr(attrGapSince),
		Announced:  d.NumberOr(attrAnnounced, noneAnnounced),
		FloorSince: d.MillisOr(attrFloorAt),
		Nudged:     d.MillisOr(attrNudged),
	}
	c.Floor = d.NumberOr(attrFloor, c.Settings.First-1)
	if _, arrival := it[attrTailFrom]; arrival {
		c.Settings.Kind = KindArrival
		c.TailFrom, c.Tail = d.Number(attrTailFrom), decodeTail(&d)
		c.PrintsFrom, c.Prints = d.Number(attrPrintsFrom), Prints(d.Text(attrPrints))
		if d.Err == nil && c.Position-c.TailFrom != c.Tail.Seqs() {
			d.Fail(attrTail, fmt.Sprintf("is of %d seqs behind %d, and the position is %d", c.Tail.Seqs(), c.TailFrom, c.Position))
		}
		if err := c.checkPrints(); err != nil {
			d.Fail(attrPrints, err.Error())
		}
	}
	if d.Err != nil {
		return Cursor{}, fmt.Errorf("cursor: %w", d.Err)
	}
	return c, nil
}
