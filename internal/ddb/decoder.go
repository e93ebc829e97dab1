package ddb

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/pkg/table"
)

// Decoder reads attributes and keeps the first error in Err, so that an item is decoded in one go
// and checked once.
type Decoder struct {
	Item Item
	Err  error
	// Failed is the attribute that Err is about.
	Failed Path
}

// Fail notes what is wrong with an attribute.
func (d *Decoder) Fail(name Path, problem string) {
	if d.Err == nil {
		d.Err, d.Failed = fmt.Errorf("attribute %q %s", name.String(), problem), name
	}
}

// value reads what is there, if anything; it has to be of this kind.
func (d *Decoder) value(name Path, kind Kind) (Value, bool) {
	v := d.Item.attribute(string(name))
	if v.kind != None && v.kind != kind {
		d.Fail(name, v.kind.instead(kind))
		return Value{}, false
	}
	return v, v.kind != None
}

// must reads what has to be there.
func (d *Decoder) must(name Path, kind Kind) Value {
	v, ok := d.value(name, kind)
	if !ok {
		d.Fail(name, None.instead(kind))
	}
	return v
}

// Text reads a string that must be there.
func (d *Decoder) Text(name Path) string { return d.must(name, String).text }

// TextOr reads a string that may be missing: empty then.
func (d *Decoder) TextOr(name Path) string {
	v, _ := d.value(name, String)
	return v.text
}

// Number reads an integer that must be there.
func (d *Decoder) Number(name Path) int64 {
	v := d.must(name, Number)
	n, ok := v.Int64()
	if !ok {
		d.Fail(name, "is "+v.Decimal()+", which is not a 64-bit integer")
	}
	return n
}

// NumberOr reads an integer that may be missing.
func (d *Decoder) NumberOr(name Path, otherwise int64) int64 {
	if !d.Item.Has(name) {
		return otherwise
	}
	return d.Number(name)
}

// MillisOr reads a time that may be missing: the zero time then.
func (d *Decoder) MillisOr(name Path) time.Time {
	if !d.Item.Has(name) {
		return time.Time{}
	}
	return fromMillis(d.Number(name))
}

// BytesOr reads bytes that may be missing: nil then.
func (d *Decoder) BytesOr(name Path) []byte {
	if v, ok := d.value(name, Binary); ok {
		return v.Bytes()
	}
	return nil
}

// MapOr reads a map that may be missing: empty then.
func (d *Decoder) MapOr(name Path) Item {
	v, _ := d.value(name, Map)
	return v.Fields()
}

// ListOr reads a list that may be missing: nil then.
func (d *Decoder) ListOr(name Path) []Value {
	v, _ := d.value(name, List)
	return v.Elements()
}

// Layout checks the version in the item's attribute: one above known is [table.ErrNewerLayout].
func (d *Decoder) Layout(name Path, known int64) {
	if v := d.Number(name); d.Err == nil && v > known {
		d.Err, d.Failed = fmt.Errorf("%w: layout %d, and this one knows %d", table.ErrNewerLayout,
			v, known), name
	}
}
