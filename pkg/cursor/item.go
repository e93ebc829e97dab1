package cursor

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// layout is the version of the items' layout, kept in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and
// refuses newer ones ([table.ErrNewerLayout]). Adding an attribute that older
// versions may ignore does not raise the version; giving an attribute another
// meaning does.
//
// Layout 2 has queues in arrival order: their cursors, order items and arrivals. Layout 3
// has the cursors of queues that were erased. Layout 4 has keyed queues, as layout 2. All
// others are written in layout 1 still.
const (
	layout        = 4
	layoutOld     = 1
	layoutArrival = 2
	layoutErased  = 3
	layoutKeyed   = 4
)

// logLayout is the layout of what only queues with a log have.
func logLayout(keyed bool) int64 {
	if keyed {
		return layoutKeyed
	}
	return layoutArrival
}

// The attributes of the items, all but the keys.
const (
	attrVersion ddb.Path = "v"

	attrID          ddb.Path = "id"
	attrBody        ddb.Path = "body"
	attrContentType ddb.Path = "contentType"
	attrAttributes  ddb.Path = "attributes"
	attrTrace       ddb.Path = "trace"
	attrTraces      ddb.Path = "traces" // of several messages that are one item
	attrDigest      ddb.Path = "digest"
	attrEnqueuedAt  ddb.Path = "enqueuedAt" // ms
	attrExpiresOn   ddb.Path = "expiresOn"  // s, the TTL attribute
	attrTombstone   ddb.Path = "tombstone"
	attrOp          ddb.Path = "op"

	attrFirst     ddb.Path = "first"
	attrPosition  ddb.Path = "position"
	attrMaxParked ddb.Path = "parked"
	attrMovedAt   ddb.Path = "gapSince" // ms
	attrChange    ddb.Path = "change"
	attrPolicy    ddb.Path = "policy"
	attrGapAfter  ddb.Path = "gapAfter" // ms
	attrMaxAhead  ddb.Path = "maxAhead"
	attrMode      ddb.Path = "mode"
	attrAnnounced ddb.Path = "announced"
	attrFloor     ddb.Path = "floor"
	attrFloorAt   ddb.Path = "floorSince" // ms
	attrNotified  ddb.Path = "notify"     // ms
	attrTailFrom  ddb.Path = "tailFrom"
	attrTail      ddb.Path = "tail"

	attrFingerprintsFrom ddb.Path = "printsFrom"
	attrFingerprints     ddb.Path = "prints"

	attrKeyType    ddb.Path = "keyType"
	attrSettle     ddb.Path = "settle" // ms
	attrLate       ddb.Path = "late"
	attrHigh       ddb.Path = "high"
	attrLow        ddb.Path = "low"
	attrLateSoFar  ddb.Path = "lateSoFar"
	attrLateTold   ddb.Path = "lateTold"
	attrLateSeq    ddb.Path = "lateSeq"
	attrLateInRow  ddb.Path = "inRow"
	attrClockAhead ddb.Path = "clockAhead" // ms
	attrRestart    ddb.Path = "anew"
	attrPrev       ddb.Path = "prev"     // of a waiting message
	attrReceived   ddb.Path = "received" // ns, of a receipt

	attrErased  ddb.Path = "erased" // ms
	attrEraseOp ddb.Path = "eraseOp"
	attrLastSeq ddb.Path = "lastSeq"
	attrEmptied ddb.Path = "emptied" // ms

	attrEntries   ddb.Path = "entries" // of an order item
	attrSortKey   ddb.Path = "sortKey"
	attrSeen      ddb.Path = "seen"
	attrMessageID ddb.Path = "messageId"
	attrCount     ddb.Path = "count"
	attrFrames    ddb.Path = "frames"
	attrDeflated  ddb.Path = "deflated" // frames

	attrSweepName ddb.Path = "name"
	attrAfter     ddb.Path = "after"
	attrIn        ddb.Path = "in"
	attrKept      ddb.Path = "kept"
	attrBegan     ddb.Path = "began" // ms
	attrSince     ddb.Path = "since" // ms
	attrFailed    ddb.Path = "failed"
	attrSegments  ddb.Path = "segments"
	attrLeft      ddb.Path = "left"
	attrSums      ddb.Path = "sums"
	attrPeaks     ddb.Path = "peaks"
	attrFinished  ddb.Path = "finished" // ms
)

var fixedAttributes = []ddb.Path{
	attrVersion, attrID, attrBody, attrContentType, attrAttributes, attrDigest, attrEnqueuedAt, attrExpiresOn,
	attrTombstone, attrOp, attrFirst, attrPosition, attrMaxParked, attrMovedAt, attrChange, attrPolicy, attrGapAfter,
	attrMaxAhead, attrMode, attrAnnounced, attrFloor, attrFloorAt, attrNotified, attrTailFrom, attrTail,
	attrFingerprintsFrom, attrFingerprints, attrEntries, attrSortKey, attrSeen, attrMessageID, attrCount, attrFrames, attrDeflated,
	attrErased, attrEraseOp, attrLastSeq, attrEmptied, attrKeyType, attrSettle, attrLate, attrHigh, attrLow, attrLateSoFar, attrLateTold,
	attrLateSeq, attrLateInRow, attrClockAhead, attrRestart, attrPrev, attrTrace, attrTraces,
	attrReceived,
}

// What the last write to a cursor was: event source mappings filter on it.
var (
	changeAdvance = attrChange.Set(ddb.Text("advance"))
	changePark    = attrChange.Set(ddb.Text("park"))
	changeOther   = attrChange.Set(ddb.Text("other"))
)

// checkLayout checks the item's version.
func checkLayout(d *ddb.Decoder) { d.Layout(attrVersion, layout) }

// text, blob, millis and seconds are none for what is empty: it is left out of
// the item.
func text(s string) ddb.Value {
	if s == "" {
		return ddb.Value{}
	}
	return ddb.Text(s)
}

func blob(b []byte) ddb.Value {
	if len(b) == 0 {
		return ddb.Value{}
	}
	return ddb.Blob(b)
}

func millis(t time.Time) ddb.Value {
	if t.IsZero() {
		return ddb.Value{}
	}
	return ddb.Millis(t)
}

func seconds(t time.Time) ddb.Value {
	if t.IsZero() {
		return ddb.Value{}
	}
	return ddb.Seconds(t)
}

func encodeMessage(m Message, names Names) ddb.Item {
	it := ddb.Fields{
		names.queueKey(): ddb.Text(m.Queue),
		names.seqKey():   ddb.Int(m.Seq),
		attrVersion:      ddb.Int(layoutOld),
		attrOp:           ddb.Blob(m.Op),
		attrEnqueuedAt:   ddb.Millis(m.EnqueuedAt),
		attrExpiresOn:    seconds(m.ExpiresOn),
		attrTombstone:    text(m.Tombstone),
	}
	if m.Tombstone == "" {
		it[attrDigest] = ddb.Blob(m.Digest)
		it[attrID] = text(m.ID)
		encodeContent(it, m)
	}
	return it.Item()
}

// encodeContent writes what a producer hands in beside names.
func encodeContent(it ddb.Fields, m Message) {
	it[attrBody] = blob(m.Body)
	if m.contentType() != DefaultContentType {
		it[attrContentType] = ddb.Text(m.ContentType)
	}
	if len(m.Attributes) > 0 {
		attributes := make(ddb.Fields, len(m.Attributes))
		for name, value := range m.Attributes {
			attributes[ddb.Path(name)] = ddb.Text(value)
		}
		it[attrAttributes] = ddb.MapOf(attributes)
	}
	it[attrTrace] = blob(m.Trace.encode())
}

// decodeMessage takes whole messages and heads.
func decodeMessage(it ddb.Item, names Names) (Message, error) {
	d := ddb.Decoder{Item: it}
	checkLayout(&d)
	m := Message{
		Queue:      d.Text(names.queueKey()),
		Seq:        d.Number(names.seqKey()),
		ID:         d.TextOr(attrID, ""),
		EnqueuedAt: d.MillisOr(attrEnqueuedAt),
		ExpiresOn:  d.SecondsOr(attrExpiresOn),
		Tombstone:  d.TextOr(attrTombstone, ""),
		Digest:     d.BytesOr(attrDigest),
		Op:         d.BytesOr(attrOp),
	}
	decodeContent(&d, &m)
	if d.Err != nil {
		return Message{}, fmt.Errorf("message: %w", d.Err)
	}
	return m, nil
}

// decodeContent reads what encodeContent wrote.
func decodeContent(d *ddb.Decoder, m *Message) {
	m.Body, m.ContentType = d.BytesOr(attrBody), d.TextOr(attrContentType, "")
	attributes := ddb.Decoder{Item: d.MapOr(attrAttributes)}
	if attributes.Item.Exists() {
		m.Attributes = make(map[string]string, attributes.Item.Len())
		for name := range attributes.Item.All() {
			m.Attributes[name] = attributes.Text(ddb.Path(name))
		}
	}
	if d.Err == nil {
		d.Err = attributes.Err
	}
	one := []Message{*m}
	decodeTraces(d, one)
	*m = one[0]
}

func encodeCursor(c Cursor, names Names) ddb.Item {
	it := ddb.Fields{
		names.queueKey(): ddb.Text(c.Queue),
		attrVersion:      ddb.Int(layoutOld),
		attrFirst:        ddb.Int(c.Settings.First),
		attrPosition:     ddb.Int(c.Position),
		attrMaxParked:    ddb.Int(c.MaxParked),
		attrMovedAt:      ddb.Millis(c.MovedAt),
		attrChange:       changeOther.Value,
		attrPolicy:       ddb.Text(string(c.Settings.Policy)),
		attrGapAfter:     ddb.Int(c.Settings.GapAfter.Milliseconds()),
		attrMaxAhead:     ddb.Int(c.Settings.MaxAhead),
		attrMode:         ddb.Text(string(c.Settings.Mode)),
		attrAnnounced:    announced(c.Announced),
		attrFloorAt:      millis(c.FloorSince),
		attrNotified:     millis(c.Notified),
	}
	if c.Floor != c.Settings.First-1 {
		it[attrFloor] = ddb.Int(c.Floor)
	}
	if !numbered(c) {
		it[attrVersion] = ddb.Int(logLayout(keyed(c)))
		it[attrTailFrom] = ddb.Int(c.TailFrom)
		it[attrTail] = encodeTail(c.Tail)
	}
	switch c.Settings.Kind {
	case KindArrival:
		it[attrFingerprintsFrom] = ddb.Int(c.FingerprintsFrom)
		it[attrFingerprints] = ddb.Text(string(c.Fingerprints))
	case KindKeyed:
		encodeKeyed(it, c)
	case KindNumbered:
	}
	return it.Item()
}

// announced is none where no gap is.
func announced(seq int64) ddb.Value {
	if seq == noneAnnounced {
		return ddb.Value{}
	}
	return ddb.Int(seq)
}

// decodeStub takes the cursor of a queue that was erased.
func decodeStub(it ddb.Item, names Names) (Cursor, error) {
	d := ddb.Decoder{Item: it}
	checkLayout(&d)
	c := Cursor{
		Queue: d.Text(names.queueKey()), Settings: Settings{First: d.Number(attrFirst)}, Announced: noneAnnounced,
		Erasure: Erasure{
			At: d.Millis(attrErased), Op: d.Text(attrEraseOp), Last: d.Number(attrLastSeq), Emptied: d.MillisOr(attrEmptied),
		},
	}
	if d.Err != nil {
		return Cursor{}, fmt.Errorf("cursor: %w", d.Err)
	}
	return c, nil
}

// decodeCursor takes an item or a stream image; the zero Cursor for none.
func decodeCursor(it ddb.Item, names Names) (Cursor, error) {
	if !it.Exists() {
		return Cursor{}, nil
	}
	if it.Has(attrErased) {
		return decodeStub(it, names)
	}
	d := ddb.Decoder{Item: it}
	checkLayout(&d)
	c := Cursor{
		Queue: d.Text(names.queueKey()),
		Settings: Settings{
			First:    d.Number(attrFirst),
			Policy:   Policy(d.Text(attrPolicy)),
			GapAfter: time.Duration(d.Number(attrGapAfter)) * time.Millisecond,
			MaxAhead: d.Number(attrMaxAhead),
			Mode:     Mode(d.Text(attrMode)),
		},
		Position:   d.Number(attrPosition),
		MaxParked:  d.Number(attrMaxParked),
		MovedAt:    d.MillisOr(attrMovedAt),
		Announced:  d.NumberOr(attrAnnounced, noneAnnounced),
		FloorSince: d.MillisOr(attrFloorAt),
		Notified:   d.MillisOr(attrNotified),
	}
	c.Floor = d.NumberOr(attrFloor, c.Settings.First-1)
	if it.Has(attrTailFrom) {
		c.TailFrom, c.Tail = d.Number(attrTailFrom), decodeTail(&d, attrTail, it.Has(attrHigh))
		if d.Err == nil && c.Position-c.TailFrom != c.Tail.Seqs() {
			d.Fail(attrTail, fmt.Sprintf("is of %d seqs behind %d, and the position is %d", c.Tail.Seqs(), c.TailFrom, c.Position))
		}
		if it.Has(attrHigh) {
			decodeKeyed(&d, &c)
		} else {
			c.Settings.Kind = KindArrival
			c.FingerprintsFrom, c.Fingerprints = d.Number(attrFingerprintsFrom), Fingerprints(d.Text(attrFingerprints))
			if err := c.checkFingerprints(); err != nil {
				d.Fail(attrFingerprints, err.Error())
			}
		}
	}
	if d.Err != nil {
		return Cursor{}, fmt.Errorf("cursor: %w", d.Err)
	}
	return c, nil
}
