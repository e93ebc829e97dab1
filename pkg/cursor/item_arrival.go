package cursor

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
)

// encodeTail writes entries as a list, of which a condition can ask whether one
// is in it.
func encodeTail(tail Tail) ddb.Value {
	var list []ddb.Value
	for e := range tail.All() {
		list = append(list, encodeEntry(e))
	}
	return ddb.ListOf(list...)
}

// encodeEntry writes an entry: in arrival order its key and 4 bytes of count and seen; in a
// keyed queue its marks, its key without the first byte, which all have alike, and 4 bytes
// of seen.
func encodeEntry(e Entry) ddb.Value {
	if e.has(MarkKeyed) {
		written := append([]byte{byte(e.Mark)}, e.Key[1:]...)
		return ddb.Blob(binary.BigEndian.AppendUint32(written, e.Seen))
	}
	return ddb.Blob(binary.BigEndian.AppendUint32([]byte(e.Key), uint32(e.Count)<<seenBits|e.Seen))
}

// decodeEntry reads what encodeEntry wrote; what is none is an entry of no seqs.
func decodeEntry(written string, keyed bool) Entry {
	number := func() uint32 { return binary.BigEndian.Uint32([]byte(written[len(written)-4:])) }
	switch {
	case !keyed && len(written) == hashSize+4:
		both := number()
		return Entry{Key: SortKey(written[:hashSize]), Count: int(both >> seenBits), Seen: shortSeen(int64(both))}
	case keyed && len(written) > 1+tieBreakSize+4 && Mark(written[0])&MarkKeyed != 0:
		seen := shortSeen(int64(number()))
		return Entry{Key: keyedPrefix + SortKey(written[1:len(written)-4]), Count: 1, Seen: seen, Mark: Mark(written[0])}
	}
	return Entry{}
}

// decodeTail reads a list of entries, and checks what is counted with.
func decodeTail(d *ddb.Decoder, attribute ddb.Path, keyed bool) Tail {
	if !d.Item.Has(attribute) {
		d.Fail(attribute, "is missing")
	}
	list := d.ListOr(attribute)
	entries := make([]Entry, len(list))
	for i, written := range list {
		if written.Kind() == ddb.Binary {
			entries[i] = decodeEntry(written.Str(), keyed)
		}
		if e := entries[i]; e.Count < 1 || e.Count > MaxArrivalMessages {
			d.Fail(attribute, fmt.Sprintf("has an entry of %d messages", e.Count))
		}
	}
	return NewTail(entries...)
}

func encodeOrderItem(o OrderItem, names Names) ddb.Item {
	return ddb.Fields{
		names.queueKey(): ddb.Text(o.Queue),
		names.seqKey():   ddb.Int(o.Last),
		attrVersion:      ddb.Int(logLayout(o.Entries.ofKeyed())),
		attrEntries:      encodeTail(o.Entries),
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
		Entries: decodeTail(&d, attrEntries, d.NumberOr(attrVersion, 0) == layoutKeyed), ExpiresOn: d.SecondsOr(attrExpiresOn),
	}
	if o.Entries == "" {
		d.Fail(attrEntries, "are none")
	}
	if d.Err != nil {
		return OrderItem{}, fmt.Errorf("order item: %w", d.Err)
	}
	return o, nil
}

func encodeArrival(a Arrival, names Names) ddb.Item {
	it := ddb.Fields{
		names.queueKey(): ddb.Text(a.Queue),
		attrSortKey:      ddb.Blob([]byte(a.sortKey())),
		attrVersion:      ddb.Int(logLayout(a.Key != "")),
		attrPrev:         text(a.Prev),
		attrID:           text(a.ID),
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
	encodeFrames(it, a.Messages)
	return it.Item()
}

// encodeFrames writes several messages that are one item.
func encodeFrames(it ddb.Fields, messages []Message) {
	it[attrCount] = ddb.Int(int64(len(messages)))
	encodeTraces(it, messages)
	raw := frames(messages)
	if small := deflated(raw); small != nil {
		it[attrDeflated] = ddb.Blob(small)
		return
	}
	it[attrFrames] = ddb.Blob(raw)
}

// decodeArrival takes whole arrivals, and heads where headsOnly: then the
// messages are as many as there are, and empty.
func decodeArrival(it ddb.Item, names Names, headsOnly bool) (Arrival, error) {
	d := ddb.Decoder{Item: it}
	checkLayout(&d)
	a := Arrival{
		Queue: d.Text(names.queueKey()), ID: d.TextOr(attrID, ""), Seen: d.Number(attrSeen),
		EnqueuedAt: d.MillisOr(attrEnqueuedAt), ExpiresOn: d.SecondsOr(attrExpiresOn),
		Digest: d.BytesOr(attrDigest), Op: d.BytesOr(attrOp), Prev: d.TextOr(attrPrev, ""),
	}
	if d.NumberOr(attrVersion, 0) == layoutKeyed {
		stored := SortKey(d.BytesOr(attrSortKey))
		if a.Key, a.Era = stored.Key(), stored.Era(); a.Key == "" {
			d.Fail(attrSortKey, "is none of a keyed queue")
		}
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
		a.Messages = decodeFrames(&d, int(count), MaxArrivalBytes)
	}
	if d.Err != nil {
		return Arrival{}, fmt.Errorf("arrival: %w", d.Err)
	}
	return a, nil
}

// decodeFrames reads what encodeFrames wrote, of at most so many bytes.
func decodeFrames(d *ddb.Decoder, count, most int) []Message {
	raw := d.BytesOr(attrFrames)
	var err error
	if small := d.BytesOr(attrDeflated); small != nil {
		raw, err = inflated(small, most)
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
	default:
		decodeTraces(d, messages)
	}
	return messages
}
