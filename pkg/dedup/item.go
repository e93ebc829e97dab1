package dedup

import (
	"time"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// layout is the version of the items' layout, kept in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and
// refuses newer ones ([ErrNewerLayout]); a claim's condition refuses them too.
// Adding an attribute that older versions may ignore does not raise the
// version; giving an attribute another meaning does.
const layout = 1

// The attributes of the items, all but the keys. Expressions name them through
// placeholders, for several are words that DynamoDB keeps for itself.
const (
	attrVersion     = "v"
	attrFence       = "fence"
	attrAttempt     = "attempt"
	attrToken       = "token"
	attrStartedAt   = "startedAt"  // ms
	attrLeaseUntil  = "leaseUntil" // ms
	attrValidUntil  = "validUntil" // ms
	attrExpiresOn   = "expiresOn"  // s, the TTL attribute
	attrPayloadHash = "payloadHash"
	attrCompletedAt = "completedAt" // ms
	attrFailed      = "failed"
	attrError       = "error"
	attrResult      = "result"
	attrCodec       = "codec"
	attrResultIn    = "resultIn"
	attrResultUntil = "resultUntil" // ms
	attrRepair      = "repair"
	attrRepairedBy  = "repairedBy"
	attrRepairedAt  = "repairedAt" // ms
	attrReason      = "reason"

	// attrResultOf is the processor of a result that has an item of its own.
	attrResultOf = "resultOf"
)

var attributes = []string{
	attrVersion, attrFence, attrAttempt, attrToken, attrStartedAt, attrLeaseUntil, attrValidUntil, attrExpiresOn,
	attrPayloadHash, attrCompletedAt, attrFailed, attrError, attrResult, attrCodec, attrResultIn, attrResultUntil,
	attrRepair, attrRepairedBy, attrRepairedAt, attrReason, attrResultOf,
}

// ofOneLife are the attributes that a new life of a row does not have.
var ofOneLife = []string{
	attrCompletedAt, attrFailed, attrError, attrResult, attrCodec, attrResultIn, attrResultUntil,
	attrRepair, attrRepairedBy, attrRepairedAt, attrReason,
}

// item is an item or a key.
type item = dynamo.Item

// key is the primary key of a row.
func (n Names) key(k Key) item {
	if n.OneKey {
		return item{n.IDKey: dynamo.Text(k.joined())}
	}
	return item{n.IDKey: dynamo.Text(k.ID), n.ProcessorKey: dynamo.Text(k.Processor)}
}

// resultItemKey is the primary key of a result that has an item of its own.
func (n Names) resultItemKey(k Key, t Token) item {
	if n.OneKey {
		return item{n.IDKey: dynamo.Text(resultKey(t))}
	}
	return item{n.IDKey: dynamo.Text(k.ID), n.ProcessorKey: dynamo.Text(resultKey(t))}
}

// plain gives the attributes of an item their own names, all but the keys.
func (n Names) plain(it item) item {
	if len(n.Attributes) == 0 {
		return it
	}
	named := make(item, len(it))
	for _, name := range attributes {
		if value, ok := it[n.attribute(name)]; ok {
			named[name] = value
		}
	}
	return named
}

// decodeKey reads the key of a row. The error is a [RowError].
func decodeKey(it item, n Names) (Key, error) {
	d := dynamo.Decoder{Item: it}
	k := Key{ID: d.Text(n.IDKey)}
	if !n.OneKey {
		k.Processor = d.Text(n.ProcessorKey)
	} else if split, ok := splitKey(k.ID); ok {
		k = split
	} else {
		d.Fail(n.IDKey, "is not a processor's length, the processor and an id")
	}
	if d.Err != nil {
		return Key{}, &RowError{Key: k, Field: d.Failed, Err: d.Err}
	}
	return k, nil
}

// decodeRow takes an item as it stands; the zero Row for none. The error is a
// [RowError].
func decodeRow(it item, n Names) (Row, error) {
	if len(it) == 0 {
		return Row{}, nil
	}
	k, err := decodeKey(it, n)
	if err != nil {
		return Row{}, err
	}
	d := dynamo.Decoder{Item: n.plain(it)}
	r := Row{Key: k}
	d.Layout(attrVersion, layout, ErrNewerLayout)
	r.Fence = d.Number(attrFence)
	r.Attempt = d.Number(attrAttempt)
	token := d.BytesOr(attrToken)
	if len(token) != len(r.Token) {
		d.Fail(attrToken, "is missing or does not have 16 bytes")
	}
	copy(r.Token[:], token)
	r.StartedAt = time.UnixMilli(d.Number(attrStartedAt)).UTC()
	r.LeaseUntil = time.UnixMilli(d.Number(attrLeaseUntil)).UTC()
	r.ValidUntil = time.UnixMilli(d.Number(attrValidUntil)).UTC()
	if seconds := d.NumberOr(attrExpiresOn, 0); seconds != 0 {
		r.ExpiresOn = time.Unix(seconds, 0).UTC()
	}
	r.Payload = d.BytesOr(attrPayloadHash)
	r.CompletedAt = d.MillisOr(attrCompletedAt)
	r.Failed = d.NumberOr(attrFailed, 0) != 0
	r.Error = d.TextOr(attrError, "")
	r.Result = Result{
		Bytes: d.BytesOr(attrResult), Codec: d.TextOr(attrCodec, ""),
		Place: Place(d.TextOr(attrResultIn, "")), Until: d.MillisOr(attrResultUntil),
	}
	r.Repair = Repair{
		Kind: RepairKind(d.TextOr(attrRepair, "")), By: d.TextOr(attrRepairedBy, ""),
		Reason: d.TextOr(attrReason, ""), At: d.MillisOr(attrRepairedAt),
	}
	if d.Err != nil {
		return Row{}, &RowError{Key: r.Key, Field: d.Failed, Err: d.Err}
	}
	return r, nil
}
