package ddb

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/streamsort/streamsort/internal/digest"
)

// Kind is the type of a [Value].
type Kind uint8

// The kinds. None is the zero Value's: no value at all. Other is a value of a type that no item of
// this project has (a null, a fraction, another set): it can be read past, and not written.
const (
	None Kind = iota
	String
	Number
	Binary
	Boolean
	List
	Map
	BinarySet
	Other
	// reference is the value of another attribute of the same item.
	reference
)

// instead says that a value is of this kind, or missing, where it has to be of another.
func (k Kind) instead(of Kind) string {
	names := [...]string{
		String: "a string", Number: "a number", Binary: "binary", Boolean: "a boolean", List: "a list",
		Map: "a map", BinarySet: "a set of bytes", Other: "of a kind that no item has",
	}
	if k == None {
		return "is missing, and must be " + names[of]
	}
	return "is " + names[k] + ", and must be " + names[of]
}

// Value is the value of an attribute. It never changes; the zero Value is no value.
type Value struct {
	kind Kind
	// hi and lo are a number of 128 bits in two's complement. A Boolean that is true has lo 1.
	hi int64
	lo uint64
	// text is a String's, a Binary's bytes, or a reference's path.
	text string
	more *elements
}

// elements are what a list, a set or a map holds. A set is sorted.
type elements struct {
	list   []Value
	set    []string
	fields Item
}

// Text is a string.
func Text(s string) Value { return Value{kind: String, text: s} }

// Int is an integer.
func Int(n int64) Value { return Value{kind: Number, hi: n >> 63, lo: uint64(n)} }

// Int128 is an integer of 128 bits in two's complement. DynamoDB keeps 38 decimal digits: a write
// of more is refused.
func Int128(hi int64, lo uint64) Value { return Value{kind: Number, hi: hi, lo: lo} }

// Millis is a time in milliseconds since 1970.
func Millis(t time.Time) Value { return Int(t.UnixMilli()) }

// ToMillis is a time as the tables keep it, and as it is read again: to the millisecond, in UTC.
func ToMillis(t time.Time) time.Time { return fromMillis(t.UnixMilli()) }

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func fromSeconds(s int64) time.Time { return time.Unix(s, 0).UTC() }

// Seconds is a time in seconds since 1970, as TTL wants it.
func Seconds(t time.Time) Value { return Int(t.Unix()) }

// Blob is bytes.
func Blob(b []byte) Value { return Value{kind: Binary, text: string(b)} }

// Bool is a truth.
func Bool(truth bool) Value {
	if truth {
		return Value{kind: Boolean, lo: 1}
	}
	return Value{kind: Boolean}
}

// ListOf is a list.
func ListOf(values ...Value) Value { return Value{kind: List, more: &elements{list: values}} }

// MapOf is a map.
func MapOf(fields Fields) Value { return Value{kind: Map, more: &elements{fields: fields.Item()}} }

// Blobs is a set of bytes; each is in it once.
func Blobs(set ...[]byte) Value {
	texts := make([]string, len(set))
	for i, b := range set {
		texts[i] = string(b)
	}
	return setOf(texts)
}

// setOf takes the slice over.
func setOf(texts []string) Value {
	slices.Sort(texts)
	return Value{kind: BinarySet, more: &elements{set: slices.Compact(texts)}}
}

// Unreadable is a value of a type that this project does not write.
func Unreadable() Value { return Value{kind: Other} }

// Kind is the value's type.
func (v Value) Kind() Kind { return v.kind }

// Str is a String's text, and a Binary's bytes as a text.
func (v Value) Str() string { return v.text }

// Bytes is a copy of a Binary's bytes.
func (v Value) Bytes() []byte { return []byte(v.text) }

// True reports whether it is the Boolean that is true.
func (v Value) True() bool { return v.kind == Boolean && v.lo == 1 }

// Elements are a List's. They must not be changed.
func (v Value) Elements() []Value {
	if v.more == nil {
		return nil
	}
	return v.more.list
}

// Members are copies of a BinarySet's, sorted.
func (v Value) Members() [][]byte {
	if v.more == nil {
		return nil
	}
	members := make([][]byte, len(v.more.set))
	for i, text := range v.more.set {
		members[i] = []byte(text)
	}
	return members
}

// Fields are a Map's.
func (v Value) Fields() Item {
	if v.more == nil {
		return Item{}
	}
	return v.more.fields
}

// Equal reports whether two values are the same, as a condition compares them.
func (v Value) Equal(o Value) bool {
	if v.kind != o.kind || v.hi != o.hi || v.lo != o.lo || v.text != o.text {
		return false
	}
	switch v.kind {
	case List:
		return slices.EqualFunc(v.more.list, o.more.list, Value.Equal)
	case Map:
		return v.more.fields.Equal(o.more.fields)
	case BinarySet:
		return slices.Equal(v.more.set, o.more.set)
	}
	return true
}

// compare orders two values of one kind that has an order; ok is false for others, of which every
// comparison is false.
func (v Value) compare(o Value) (order int, ok bool) {
	if v.kind != o.kind {
		return 0, false
	}
	switch v.kind {
	case Number:
		return cmp.Or(cmp.Compare(v.hi, o.hi), cmp.Compare(v.lo, o.lo)), true
	case String, Binary:
		return strings.Compare(v.text, o.text), true
	}
	return 0, false
}

// contains is the condition function of the same name.
func (v Value) contains(o Value) bool {
	switch v.kind {
	case String:
		return o.kind == String && strings.Contains(v.text, o.text)
	case Binary:
		return o.kind == Binary && bytes.Contains([]byte(v.text), []byte(o.text))
	case BinarySet:
		_, found := slices.BinarySearch(v.more.set, o.text)
		return o.kind == Binary && found
	case List:
		return slices.ContainsFunc(v.more.list, o.Equal)
	}
	return false
}

// length is the condition function size; ok is false where it has no length.
func (v Value) length() (n int, ok bool) {
	switch v.kind {
	case String:
		return len(utf16.Encode([]rune(v.text))), true
	case Binary:
		return len(v.text), true
	case List:
		return len(v.more.list), true
	case Map:
		return v.more.fields.Len(), true
	case BinarySet:
		return len(v.more.set), true
	}
	return 0, false
}

// Digest feeds all of a value.
func (v Value) Digest(d *digest.Digest) {
	d.Int(int64(v.kind))
	switch v.kind {
	case Number, Boolean:
		d.Int(v.hi)
		d.Int(int64(v.lo))
	case String, Binary, reference:
		d.Text(v.text)
	case List:
		d.Int(int64(len(v.more.list)))
		for _, element := range v.more.list {
			element.Digest(d)
		}
	case Map:
		d.Digest(v.more.fields.Digest())
	case BinarySet:
		d.Int(int64(len(v.more.set)))
		for _, text := range v.more.set {
			d.Text(text)
		}
	}
}

// size is what a value counts for in its item, by AWS's rules.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func (v Value) size() int {
	switch v.kind {
	case String, Binary:
		return len(v.text)
	case Number:
		return v.numberSize()
	case List:
		size := 3
		for _, element := range v.more.list {
			size += 1 + element.size()
		}
		return size
	case Map:
		return 3 + v.more.fields.Len() + v.more.fields.Size()
	case BinarySet:
		size := 0
		for _, text := range v.more.set {
			size += len(text)
		}
		return size
	}
	return 1
}

// String is for traces and failures.
func (v Value) String() string {
	switch v.kind {
	case None:
		return "none"
	case String:
		return v.text
	case Number:
		return v.Decimal()
	case Binary:
		return printable(v.text)
	case Boolean:
		return map[bool]string{true: "true", false: "false"}[v.lo == 1]
	case reference:
		return "#" + Path(v.text).String()
	case List:
		return "[" + joined(v.more.list, Value.String) + "]"
	case BinarySet:
		return "<" + joined(v.more.set, printable) + ">"
	case Map:
		return v.more.fields.String()
	}
	return "?"
}

func joined[T any](all []T, text func(T) string) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = text(one)
	}
	return strings.Join(texts, " ")
}
