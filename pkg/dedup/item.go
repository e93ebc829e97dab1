package dedup

import (
	"cmp"

	"github.com/streamsort/streamsort/internal/ddb"
)

// layout is the version of the items' layout, stored in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and
// refuses newer ones ([table.ErrNewerLayout]); the condition of every write of a row
// refuses them too.
// Adding an attribute that older versions may ignore does not raise the
// version; giving an attribute another meaning does.
const layout = 1

// The attributes that requests name, by the names that the package comment has; the tags of
// [Row] have all. What a table has them under is said by [Names.Attributes].
const (
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

// attributes are the names of all, but the keys.
func attributes() []ddb.Path {
	names := []ddb.Path{attrVersion, attrResultOf}
	for name := range rows.All(new(Row)) {
		names = append(names, name)
	}
	return names
}

// attribute is where a table has an attribute.
func (n Names) attribute(name ddb.Path) ddb.Path {
	return ddb.Path(cmp.Or(n.Attributes[string(name)], string(name)))
}

// plain gives the attributes of an item their own names, all but the keys.
func (n Names) plain(it ddb.Item) ddb.Item {
	if len(n.Attributes) == 0 {
		return it
	}
	fields := ddb.Fields{}
	for _, name := range attributes() {
		fields[name] = it.Get(n.attribute(name))
	}
	return fields.Item()
}

// key is the primary key of a row.
func (n Names) key(k Key) ddb.Item {
	if n.OneKey {
		return ddb.Fields{ddb.Path(n.IDKey): ddb.Text(k.joined())}.Item()
	}
	return n.twoKeys(k.ID, k.Processor)
}

// resultItemKey is the primary key of a result that has an item of its own.
func (n Names) resultItemKey(k Key, t Token) ddb.Item {
	if n.OneKey {
		return ddb.Fields{ddb.Path(n.IDKey): ddb.Text(resultKey(t))}.Item()
	}
	return n.twoKeys(k.ID, resultKey(t))
}

func (n Names) twoKeys(partition, sort string) ddb.Item {
	return ddb.Fields{ddb.Path(n.IDKey): ddb.Text(partition), ddb.Path(n.ProcessorKey): ddb.Text(sort)}.Item()
}

// placeText is the place of an item as a text: the joined key of a table with
// two keys, the plain key of one with one.
func (n Names) placeText(key ddb.Item) (string, error) {
	if !key.Exists() {
		return "", nil
	}
	d := ddb.Decoder{Item: key}
	first := d.Text(ddb.Path(n.IDKey))
	if n.OneKey {
		return first, d.Err
	}
	return Key{ID: first, Processor: d.Text(ddb.Path(n.ProcessorKey))}.joined(), d.Err
}

// place is the reverse of placeText; none where the text is no place.
func (n Names) place(text string) ddb.Item {
	if n.OneKey {
		return ddb.Fields{ddb.Path(n.IDKey): ddb.Text(text)}.Item()
	}
	k, ok := splitKey(text)
	if !ok {
		return ddb.Item{}
	}
	return n.key(k)
}

// decodeKey reads the key of a row. The error is a [RowError].
func (n Names) decodeKey(it ddb.Item) (Key, error) {
	d := ddb.Decoder{Item: it}
	k := Key{ID: d.Text(ddb.Path(n.IDKey))}
	if !n.OneKey {
		k.Processor = d.Text(ddb.Path(n.ProcessorKey))
	} else if split, ok := splitKey(k.ID); ok {
		k = split
	} else {
		d.Fail(ddb.Path(n.IDKey), "is not a processor's length, the processor and an id")
	}
	if d.Err != nil {
		return Key{}, &RowError{Key: k, Field: string(d.Failed), Err: d.Err}
	}
	return k, nil
}

// decodeRow takes an item as it stands; the zero Row for none. The error is a
// [RowError].
func (n Names) decodeRow(it ddb.Item) (Row, error) {
	if !it.Exists() {
		return Row{}, nil
	}
	k, err := n.decodeKey(it)
	if err != nil {
		return Row{}, err
	}
	r, d := rows.Read(n.plain(it))
	r.Key = k
	if d.Err != nil {
		return Row{}, &RowError{Key: k, Field: string(d.Failed), Err: d.Err}
	}
	return *r, nil
}
