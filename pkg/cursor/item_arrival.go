package cursor

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// encodeTail writes entries as a list, of which a condition can ask whether one
// is in it.
func encodeTail(tail Tail) *types.AttributeValueMemberL {
	list := make([]types.AttributeValue, tail.Len())
	for i := range list {
		list[i] = encodeEntry(tail, i)
	}
	return &types.AttributeValueMemberL{Value: list}
}

func encodeEntry(tail Tail, i int) types.AttributeValue {
	return dynamo.Blob([]byte(tail[i*entrySize : (i+1)*entrySize]))
}

func decodeTail(d *dynamo.Decoder) Tail {
	list, ok := d.Item[attrTail].(*types.AttributeValueMemberL)
	if !ok {
		d.Fail(attrTail, "is missing or not a list")
		return ""
	}
	packed := make([]byte, 0, len(list.Value)*entrySize)
	for _, element := range list.Value {
		entry, ok := element.(*types.AttributeValueMemberB)
		if !ok || len(entry.Value) != entrySize {
			d.Fail(attrTail, fmt.Sprintf("has an entry that is not %d bytes", entrySize))
			return ""
		}
		packed = append(packed, entry.Value...)
	}
	checkEntries(d, attrTail, Tail(packed))
	return Tail(packed)
}

// checkEntries checks what is counted with.
func checkEntries(d *dynamo.Decoder, attribute string, entries Tail) {
	for i := range entries.Len() {
		if count := entries.At(i).Count; count < 1 || count > MaxArrivalMessages {
			d.Fail(attribute, fmt.Sprintf("has an entry of %d messages", count))
		}
	}
}

func encodeOrderItem(o OrderItem, names Names) item {
	it := item{
		names.QueueKey: dynamo.Text(o.Queue),
		names.SeqKey:   dynamo.Number(o.Last),
		attrVersion:    dynamo.Number(layoutArrival),
		attrEntries:    dynamo.Blob([]byte(o.Entries)),
	}
	if !o.ExpiresOn.IsZero() {
		it[attrExpiresOn] = dynamo.Number(o.ExpiresOn.Unix())
	}
	return it
}

// isOrderItem tells order items from messages: both are in one table.
func isOrderItem(it item) bool {
	_, entries := it[attrEntries]
	return entries
}

func decodeOrderItem(it item, names Names) (OrderItem, error) {
	d := dynamo.Decoder{Item: it}
	checkLayout(&d)
	o := OrderItem{
		Queue: d.Text(names.QueueKey), Last: d.Number(names.SeqKey),
		Entries: Tail(d.BytesOr(attrEntries)), ExpiresOn: decodeExpiry(&d),
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

func encodeArrival(a Arrival, names Names) item {
	hash := HashOf(a.ID)
	it := item{
		names.QueueKey: dynamo.Text(a.Queue),
		attrIDHash:     dynamo.Blob(hash[:]),
		attrVersion:    dynamo.Number(layoutArrival),
		attrID:         dynamo.Text(a.ID),
		attrOp:         dynamo.Blob(a.Op),
		attrDigest:     dynamo.Blob(a.Digest),
		attrSeen:       dynamo.Number(a.Seen),
		attrEnqueuedAt: dynamo.Millis(a.EnqueuedAt),
	}
	if !a.ExpiresOn.IsZero() {
		it[attrExpiresOn] = dynamo.Number(a.ExpiresOn.Unix())
	}
	if len(a.Messages) == 1 {
		m := a.Messages[0]
		encodeContent(it, m)
		if m.ID != "" && m.ID != a.ID {
			it[attrMessageID] = dynamo.Text(m.ID)
		}
		return it
	}
	it[attrCount] = dynamo.Number(int64(len(a.Messages)))
	raw := frames(a.Messages)
	if small := deflated(raw); small != nil {
		it[attrDeflated] = dynamo.Blob(small)
		return it
	}
	it[attrFrames] = dynamo.Blob(raw)
	return it
}

// decodeArrival takes whole arrivals, and heads where headsOnly: then the
// messages are as many as there are, and empty.
func decodeArrival(it item, names Names, headsOnly bool) (Arrival, error) {
	d := dynamo.Decoder{Item: it}
	checkLayout(&d)
	a := Arrival{
		Queue: d.Text(names.QueueKey), ID: d.TextOr(attrID, ""), Seen: d.Number(attrSeen),
		EnqueuedAt: d.MillisOr(attrEnqueuedAt), ExpiresOn: decodeExpiry(&d),
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

func decodeFrames(d *dynamo.Decoder, count int) []Message {
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
