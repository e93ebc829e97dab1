package cursor

import (
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
)

// encodeTail writes entries as a list, of which a condition can ask whether one
// is in it.
func encodeTail(tail Tail) ddb.Value {
	list := make([]ddb.Value, tail.Len())
	for i := range list {
		list[i] = encodeEntry(tail, i)
	}
	return ddb.ListOf(list...)
}

func encodeEntry(tail Tail, i int) ddb.Value {
	return ddb.Blob([]byte(tail[i*entrySize : (i+1)*entrySize]))
}

func decodeTail(d *ddb.Decoder) Tail {
	if !d.Item.Has(attrTail) {
		d.Fail(attrTail, "is missing")
	}
	list := d.ListOr(attrTail)
	packed := make([]byte, 0, len(list)*entrySize)
	for _, entry := range list {
		if entry.Kind() != ddb.Binary || len(entry.Str()) != entrySize {
			d.Fail(attrTail, fmt.Sprintf("has an entry that is not %d bytes", entrySize))
			return ""
		}
		packed = append(packed, entry.Str()...)
	}
	checkEntries(d, attrTail, Tail(packed))
	return Tail(packed)
}

// checkEntries checks what is counted with.
func checkEntries(d *ddb.Decoder, attribute ddb.Path, entries Tail) {
	for i := range entries.Len() {
		if count := entries.At(i).Count; count < 1 || count > MaxArrivalMessages {
			d.Fail(attribute, fmt.Sprintf("has an entry of %d messages", count))
		}
	}
}

func encodeOrderItem(o OrderItem, names Names) ddb.Item {
	return ddb.Fields{
		names.queueKey(): ddb.Text(o.Queue),
		names.seqKey():   ddb.Int(o.Last),
		attrVersion:      ddb.Int(layoutArrival),
		attrEntries:      ddb.Blob([]byte(o.Entries)),
		attrExpiresOn:    seconds(o.ExpiresOn),
	}.Item()
}

// isOrderItem distinguishes order items from messages: both are in one table.
func isOrderItem(it ddb.Item) bool { return it.Has(attrEntries) }

func decodeOrderItem(it ddb.Item, names Names) (OrderItem, error) {
	d := ddb.Decoder{Item: it}
	checkLayout(&d)
	o := OrderItem{
		Queue: d.Text(names.queueKey()), Last: d.Number(names.seqKey()),
		Entries: Tail(d.BytesOr(attrEntries)), ExpiresOn: d.SecondsOr(attrExpiresOn),
	}
	if len(o.Entries) == 0 || len(o.Entries)%entrySize != 0 {
		d.Fail(attrEntries, fmt.Sprintf("are not entries of %d bytes", entrySize))
	}
	checkEntries(&d, attrEntries, o.Entries)
	if d.Err != nil {
		return OrderItem{}, fmt.Errorf("order item: %w", d.Err)
	}
	return o, nil
}

func encodeArrival(a Arrival, names Names) ddb.Item {
	hash := HashOf(a.ID)
	it := ddb.Fields{
		names.queueKey(): ddb.Text(a.Queue),
		attrIDHash:       ddb.Blob(hash[:]),
		attrVersion:      ddb.Int(layoutArrival),
		attrID:           ddb.Text(a.ID),
		attrOp:           ddb.Blob(a.Op),
		attrDigest:       ddb.Blob(a.Digest),
		attrSeen:         ddb.Int(a.Seen),
		attrEnqueuedAt:   ddb.Millis(a.EnqueuedAt),
		attrExpiresOn:    seconds(a.ExpiresOn),
	}
	if len(a.Messages) == 1 {
		m := a.Messages[0]
		encodeContent(it, m)
		if m.ID != a.ID {
			it[attrMessageID] = text(m.ID)
		}
		return it.Item()
	}
	it[attrCount] = ddb.Int(int64(len(a.Messages)))
	raw := frames(a.Messages)
	if small := deflated(raw); small != nil {
		it[attrDeflated] = ddb.Blob(small)
		return it.Item()
	}
	it[attrFrames] = ddb.Blob(raw)
	return it.Item()
}

// decodeArrival takes whole arrivals, and heads where headsOnly: then the
// messages are as many as there are, and empty.
func decodeArrival(it ddb.Item, names Names, headsOnly bool) (Arrival, error) {
	d := ddb.Decoder{Item: it}
	checkLayout(&d)
	a := Arrival{
		Queue: d.Text(names.queueKey()), ID: d.TextOr(attrID, ""), Seen: d.Number(attrSeen),
		EnqueuedAt: d.MillisOr(attrEnqueuedAt), ExpiresOn: d.SecondsOr(attrExpiresOn),
		Digest: d.BytesOr(attrDigest), Op: d.BytesOr(attrOp),
	}
	count := d.NumberOr(attrCount, 1)
	if count < 1 || count > MaxArrivalMessages {
		d.Fail(attrCount, fmt.Sprintf("is not from 1 to %d", MaxArrivalMessages))
	}
	switch {
	case d.Err != nil:
	case headsOnly:
		a.Messages = make([]Message, count)
	case count == 1:
		m := Message{ID: d.TextOr(attrMessageID, "")}
		decodeContent(&d, &m)
		a.Messages = []Message{m}
	default:
		a.Messages = decodeFrames(&d, int(count))
	}
	if d.Err != nil {
		return Arrival{}, fmt.Errorf("arrival: %w", d.Err)
	}
	return a, nil
}

func decodeFrames(d *ddb.Decoder, count int) []Message {
	raw := d.BytesOr(attrFrames)
	var err error
	if small := d.BytesOr(attrDeflated); small != nil {
		raw, err = inflated(small)
	}
	var messages []Message
	if err == nil {
		messages, err = readFrames(raw)
	}
	switch {
	case d.Err != nil:
	case err != nil:
		d.Fail(attrFrames, err.Error())
	case len(messages) != count:
		d.Fail(attrFrames, fmt.Sprintf("hold %d messages, and %s says %d", len(messages), attrCount, count))
	}
	return messages
}
