package cursor

import (
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
)

// layout is the version of the items' layout, stored in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and refuses newer ones
// ([table.ErrNewerLayout]). Adding an attribute that older versions may ignore does not raise the
// version; giving an attribute another meaning does.
//
// Layout 2 has keyed queues: their cursors, order items, arrivals and receipts have sort keys. All
// others are written in layout 1.
const (
	layout      = 2
	layoutOld   = 1
	layoutKeyed = 2
)

// logLayout is the layout of what only queues with a log have.
func logLayout(keyed bool) int64 {
	if keyed {
		return layoutKeyed
	}
	return layoutOld
}

// The attributes that requests name, and those that are no field; the tags of [Message], [Cursor],
// [Settings], [Erasure], [OrderItem] and [roundProgress] have the others.
const (
	attrVersion ddb.Path = "v"

	attrID         ddb.Path = "id"
	attrTrace      ddb.Path = "trace"
	attrTraces     ddb.Path = "traces" // of several messages that are one item
	attrDigest     ddb.Path = "digest"
	attrEnqueuedAt ddb.Path = "enqueuedAt" // ms
	attrExpiresOn  ddb.Path = "expiresOn"  // s, the TTL attribute
	attrTombstone  ddb.Path = "tombstone"
	attrOp         ddb.Path = "op"

	attrFirst     ddb.Path = "first"
	attrPosition  ddb.Path = "position"
	attrMaxParked ddb.Path = "parked"
	attrMovedAt   ddb.Path = "gapSince" // ms
	attrChange    ddb.Path = "change"
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
	attrPrev       ddb.Path = "prev" // of a waiting message

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

	attrState ddb.Path = "state" // of a pass: trouble.SweepKey
)

var (
	messageItems = ddb.NewCodec[Message]("message", layoutOld, layout)
	cursorItems  = ddb.NewCodec[Cursor]("cursor", layoutOld, layout)
	stubs        = ddb.NewCodec[Erasure]("cursor", layoutOld, layout)
	changes      = ddb.NewCodec[Change]("change", 0, 0)
	orderItems   = ddb.NewCodec[queuelog.OrderItem]("order item", layoutOld, layout)
	receipts     = ddb.NewCodec[receipt]("receipt", layoutKeyed, layout)
	sweepItems   = ddb.NewCodec[roundProgress]("progress", layoutOld, 0)
)

// live are the attributes of a cursor that an erased one has not: every write that moves or changes
// a queue is under a condition of one of them.
var live = append(slices.DeleteFunc(tagged(cursorItems), func(name ddb.Path) bool {
	return name == attrFirst
}),
	attrAnnounced, attrFloor, attrTail)

// fixedAttributes are those of the tables whose keys have names that can be chosen.
var fixedAttributes = slices.Concat(live, tagged(messageItems), tagged(stubs), tagged(receipts),
	[]ddb.Path{
		attrVersion, attrFirst, attrChange, attrTrace, attrTraces, attrPrev,
		attrEntries, attrSortKey, attrSeen, attrMessageID, attrCount, attrFrames, attrDeflated,
	})

func tagged[T any](codec ddb.Codec[T]) (names []ddb.Path) {
	for name := range codec.All(new(T)) {
		names = append(names, name)
	}
	return names
}

// What the last write to a cursor was: event source mappings filter on it.
var (
	changeAdvance = attrChange.Set(ddb.Text("advance"))
	changePark    = attrChange.Set(ddb.Text("park"))
	changeOther   = attrChange.Set(ddb.Text("other"))
)

// text and blob are none for what is empty: it is left out of the item.
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

func encodeMessage(m Message, names Names) ddb.Item {
	return messageItem(m, names.queueKey().Set(ddb.Text(m.Queue)), names.seqKey().Set(ddb.Int(m.Seq)),
		attrTrace.Set(blob(m.Trace.encode())))
}

func messageItem(m Message, beside ...ddb.Action) ddb.Item {
	if m.ContentType == DefaultContentType {
		m.ContentType = ""
	}
	return messageItems.Item(&m, beside...)
}

// decodeMessage takes whole messages and heads.
func decodeMessage(it ddb.Item, names Names) (Message, error) {
	m, d := messageItems.Read(it)
	m.Queue, m.Seq, m.Trace = d.Text(names.queueKey()), d.Number(names.seqKey()), readTrace(d)
	return messageItems.Checked(m, d)
}

func encodeCursor(c Cursor, names Names) ddb.Item {
	beside := []ddb.Action{names.queueKey().Set(ddb.Text(c.Queue)),
		attrAnnounced.Set(announced(c.Announced)), changeOther}
	if c.Floor != c.Settings.First-1 {
		beside = append(beside, attrFloor.Set(ddb.Int(c.Floor)))
	}
	if !numbered(c) {
		beside = append(beside, attrVersion.Set(ddb.Int(logLayout(keyed(c)))),
			attrTailFrom.Set(ddb.Int(c.TailFrom)), attrTail.Set(encodeTail(c.Tail)))
	}
	if !keyed(c) { // defaults have what only keys need
		c.Settings.KeyType, c.Settings.Settle, c.Settings.Late, c.Settings.ClockAhead = "", 0, "", 0
	}
	// What is zero is left out, but for what a queue of the kind must have.
	switch c.Settings.Kind {
	case KindArrival:
		beside = append(beside, attrFingerprintsFrom.Set(ddb.Int(c.FingerprintsFrom)),
			attrFingerprints.Set(ddb.Text(string(c.Fingerprints))))
	case KindKeyed:
		beside = append(beside, attrSettle.Set(ddb.Int(c.Settings.Settle.Milliseconds())))
	case KindNumbered:
	}
	return cursorItems.Item(&c, beside...)
}

// announced is noneAnnounced where no gap is.
func announced(seq int64) ddb.Value {
	if seq == noneAnnounced {
		return ddb.Value{}
	}
	return ddb.Int(seq)
}

// decodeCursor takes an item or a stream image; the zero Cursor for none.
func decodeCursor(it ddb.Item, names Names) (Cursor, error) {
	if !it.Exists() {
		return Cursor{}, nil
	}
	if it.Has(attrErased) {
		e, d := stubs.Read(it)
		return cursorItems.Checked(&Cursor{
			Queue: d.Text(names.queueKey()), Settings: Settings{First: d.Number(attrFirst)},
			Announced: noneAnnounced, Erasure: *e,
		}, d)
	}
	c, d := cursorItems.Read(it)
	c.Queue, c.Announced = d.Text(names.queueKey()), d.NumberOr(attrAnnounced, noneAnnounced)
	c.Floor = d.NumberOr(attrFloor, c.Settings.First-1)
	if it.Has(attrTailFrom) {
		c.readLog(d)
	}
	return cursorItems.Checked(c, d)
}

// readLog reads the rest of the cursor of a queue with a log, and checks what is counted with.
func (c *Cursor) readLog(d *ddb.Decoder) {
	c.Settings.Kind = KindArrival
	must := []ddb.Path{attrFingerprintsFrom, attrFingerprints}
	if d.Item.Has(attrHigh) {
		c.Settings.Kind = KindKeyed
		must = []ddb.Path{attrKeyType, attrSettle, attrLate}
	}
	for _, name := range must {
		if !d.Item.Has(name) {
			d.Fail(name, "is missing")
		}
	}
	c.Tail = decodeTail(d, attrTail, keyed(*c))
	if c.Position-c.TailFrom != c.Tail.Seqs() {
		d.Fail(attrTail, fmt.Sprintf("is of %d seqs behind %d, and the position is %d", c.Tail.Seqs(),
			c.TailFrom, c.Position))
	}
	if keyed(*c) {
		if c.Low == "" || c.Low > c.High {
			d.Fail(attrLow, "is not a sort key, or is greater than high")
		}
	} else if err := c.checkFingerprints(); err != nil {
		d.Fail(attrFingerprints, err.Error())
	}
}
