package dedup

import "github.com/streamsort/streamsort/internal/ddb"

// layout is the version of the items' layout, stored in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and refuses newer ones
// ([table.ErrNewerLayout]); the condition of every write of a row refuses them too. Adding an
// attribute that older versions may ignore does not raise the version; giving an attribute another
// meaning does.
const layout = 1

// The attributes that requests name; the tags of [Row] have all.
const (
	attrID          ddb.Path = "id"          // partition key
	attrProcessor   ddb.Path = "processorId" // sort key
	attrVersion     ddb.Path = "v"
	attrFence       ddb.Path = "fence"
	attrAttempt     ddb.Path = "attempt"
	attrToken       ddb.Path = "token"
	attrStartedAt   ddb.Path = "startedAt"  // ms
	attrLeaseUntil  ddb.Path = "leaseUntil" // ms
	attrValidUntil  ddb.Path = "validUntil" // ms
	attrExpiresOn   ddb.Path = "expiresOn"  // s, the TTL attribute
	attrPayloadHash ddb.Path = "payloadHash"
	attrCompletedAt ddb.Path = "completedAt" // ms
	attrError       ddb.Path = "error"
	attrResult      ddb.Path = "result"
	attrCodec       ddb.Path = "codec"
	attrResultIn    ddb.Path = "resultIn"

	// attrResultOf is the processor of a result that has an item of its own.
	attrResultOf ddb.Path = "resultOf"
)

var rows = ddb.NewCodec[Row]("row", layout, layout)

func (k Key) item() ddb.Item {
	return ddb.Fields{attrID: ddb.Text(k.ID), attrProcessor: ddb.Text(k.Processor)}.Item()
}

// resultItem is the primary key of a result that has an item of its own.
func resultItem(k Key, t Token) ddb.Item { return Key{k.ID, resultKey(t)}.item() }

// decodeKey reads a key. The error is a [RowError].
func decodeKey(it ddb.Item) (Key, error) {
	d := ddb.Decoder{Item: it}
	k := Key{ID: d.Text(attrID), Processor: d.Text(attrProcessor)}
	if d.Err != nil {
		return Key{}, &RowError{Key: k, Field: string(d.Failed), Err: d.Err}
	}
	return k, nil
}

// decodeRow takes an item as it stands; the zero Row for none. The error is a [RowError].
func decodeRow(it ddb.Item) (Row, error) {
	if !it.Exists() {
		return Row{}, nil
	}
	k, err := decodeKey(it)
	if err != nil {
		return Row{}, err
	}
	r, d := rows.Read(it)
	r.Key = k
	if d.Err != nil {
		return Row{}, &RowError{Key: k, Field: string(d.Failed), Err: d.Err}
	}
	return *r, nil
}
