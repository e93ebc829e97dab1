package cursor

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// encodeTail writes entries as a list, of which a condition can ask whether one is in it.
func encodeTail(tail queuelog.Tail) ddb.Value {
	var list []ddb.Value
	for e := range tail.All() {
		list = append(list, encodeEntry(e))
	}
	return ddb.ListOf(list...)
}

// encodeEntry writes an entry: in arrival order its key and 4 bytes of count and seen; in a keyed
// queue its marks, its key without the first byte, which all have alike, and 4 bytes of seen.
func encodeEntry(e queuelog.Entry) ddb.Value {
	if e.Has(queuelog.MarkKeyed) {
		written := append([]byte{byte(e.Mark)}, e.Key[1:]...)
		return ddb.Blob(binary.BigEndian.AppendUint32(written, e.Seen))
	}
	return ddb.Blob(binary.BigEndian.AppendUint32([]byte(e.Key),
		uint32(e.Count)<<queuelog.SeenBits|e.Seen))
}

// decodeEntry reads what encodeEntry wrote; anything else is an entry of no seqs.
func decodeEntry(written string, keyed bool) queuelog.Entry {
	number := func() uint32 { return binary.BigEndian.Uint32([]byte(written[len(written)-4:])) }
	switch {
	case !keyed && len(written) == sortkey.HashSize+4:
		both := number()
		return queuelog.Entry{Key: sortkey.SortKey(written[:sortkey.HashSize]),
			Count: int(both >> queuelog.SeenBits), Seen: queuelog.ShortSeen(int64(both))}
	case keyed && len(written) > 1+sortkey.TieBreakSize+4 &&
		queuelog.Mark(written[0])&queuelog.MarkKeyed != 0:
		seen := queuelog.ShortSeen(int64(number()))
		return queuelog.Entry{Key: sortkey.KeyedPrefix + sortkey.SortKey(written[1:len(written)-4]),
			Count: 1, Seen: seen, Mark: queuelog.Mark(written[0])}
	}
	return queuelog.Entry{}
}

// decodeTail reads a list of entries, and checks what is counted with.
func decodeTail(d *ddb.Decoder, attribute ddb.Path, keyed bool) queuelog.Tail {
	if !d.Item.Has(attribute) {
		d.Fail(attribute, "is missing")
	}
	list := d.ListOr(attribute)
	entries := make([]queuelog.Entry, len(list))
	for i, written := range list {
		if written.Kind() == ddb.Binary {
			entries[i] = decodeEntry(written.Str(), keyed)
		}
		if e := entries[i]; e.Count < 1 || e.Count > maxArrivalMessages {
			d.Fail(attribute, fmt.Sprintf("has an entry of %d messages", e.Count))
		}
	}
	return queuelog.NewTail(entries...)
}

func encodeOrderItem(o queuelog.OrderItem, names Names) ddb.Item {
	return orderItems.Item(&o, names.queueKey().Set(ddb.Text(o.Queue)),
		names.seqKey().Set(ddb.Int(o.Last)),
		attrVersion.Set(ddb.Int(logLayout(o.Entries.OfKeyed()))), attrEntries.Set(encodeTail(o.Entries)))
}

func decodeOrderItem(it ddb.Item, names Names) (queuelog.OrderItem, error) {
	o, d := orderItems.Read(it)
	o.Queue, o.Last = d.Text(names.queueKey()), d.Number(names.seqKey())
	if o.Entries = decodeTail(d, attrEntries,
		d.NumberOr(attrVersion, 0) == layoutKeyed); o.Entries == "" {
		d.Fail(attrEntries, "are none")
	}
	return orderItems.Checked(o, d)
}

// encodeArrival writes the attributes of a message, which are those of the arrival's one message,
// or of none; the ID, the times, the Op and the Digest are the arrival's.
func encodeArrival(a Arrival, names Names) ddb.Item {
	beside := append(make([]ddb.Action, 0, 8),
		names.queueKey().Set(ddb.Text(a.Queue)), attrSortKey.Set(ddb.Blob([]byte(a.sortKey()))),
		attrVersion.Set(ddb.Int(logLayout(a.Key != ""))), attrPrev.Set(text(a.Prev)),
		attrSeen.Set(ddb.Int(a.Seen)), tracesOf(a.Messages))
	var m Message
	if len(a.Messages) == 1 {
		if m = a.Messages[0]; m.ID != a.ID {
			beside = append(beside, attrMessageID.Set(text(m.ID)))
		}
	} else {
		raw := frames(a.Messages)
		framed := attrFrames.Set(ddb.Blob(raw))
		if small := deflated(raw); small != nil {
			framed = attrDeflated.Set(ddb.Blob(small))
		}
		beside = append(beside, attrCount.Set(ddb.Int(int64(len(a.Messages)))), framed)
	}
	m.ID, m.EnqueuedAt, m.ExpiresOn = a.ID, a.EnqueuedAt, a.ExpiresOn
	m.Tombstone, m.Digest, m.Op = "", a.Digest, a.Op
	return messageItem(m, beside...)
}

// decodeArrival takes whole arrivals, and heads where headsOnly: then the messages are as many as
// there are, and empty.
func decodeArrival(it ddb.Item, names Names, headsOnly bool) (Arrival, error) {
	m, d := messageItems.Read(it)
	a := Arrival{
		Queue: d.Text(names.queueKey()), ID: m.ID, Seen: d.Number(attrSeen), Prev: d.TextOr(attrPrev),
		EnqueuedAt: m.EnqueuedAt, ExpiresOn: m.ExpiresOn, Digest: m.Digest, Op: m.Op,
	}
	if d.NumberOr(attrVersion, 0) == layoutKeyed {
		stored := sortkey.SortKey(d.BytesOr(attrSortKey))
		if a.Key, a.Era = stored.Key(), stored.Era(); a.Key == "" {
			d.Fail(attrSortKey, "is not that of a keyed queue")
		}
	}
	count := d.NumberOr(attrCount, 1)
	if count < 1 || count > maxArrivalMessages {
		d.Fail(attrCount, fmt.Sprintf("is not from 1 to %d", maxArrivalMessages))
	}
	switch {
	case d.Err != nil:
	case headsOnly:
		a.Messages = make([]Message, count)
	case count == 1:
		a.Messages = []Message{{
			ID: d.TextOr(attrMessageID), Body: m.Body, ContentType: m.ContentType,
			Attributes: m.Attributes, Trace: readTrace(d),
		}}
	default:
		a.Messages = decodeFrames(d, int(count), maxArrivalBytes)
	}
	if d.Err != nil {
		return Arrival{}, fmt.Errorf("arrival: %w", d.Err)
	}
	return a, nil
}

// decodeFrames reads the messages of an item of several, of at most so many bytes.
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
		d.Fail(attrFrames,
			fmt.Sprintf("hold %d messages, and %s says %d", len(messages), attrCount, count))
	default:
		decodeTraces(d, messages)
	}
	return messages
}
