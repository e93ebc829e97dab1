package ddb

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/streamsort/streamsort/internal/digest"
)

// Fields are the attributes of an item that is being made, by name.
type Fields map[Path]Value

// Item makes an item of them. A zero Value is left out.
func (f Fields) Item() Item {
	fields := make([]field, 0, len(f))
	for name, value := range f {
		if value.kind != None {
			fields = append(fields, field{string(name), value})
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	return sealed(fields)
}

// Item is an item, a key, an image of a stream, or the fields of a map. It never changes, so it may
// be shared, and keeps its digest and its size once they were asked for. The zero Item is no item.
type Item struct{ *image }

type image struct {
	// fields are sorted by their names.
	fields []field
	once   sync.Once
	digest digest.Digest
	size   atomic.Int64
	memo   *memo
}

type field struct {
	name  string
	value Value
}

// sealed takes sorted fields over.
func sealed(fields []field) Item {
	if len(fields) == 0 {
		return Item{}
	}
	return Item{&image{fields: fields}}
}

// Exists reports whether there is an item.
func (it Item) Exists() bool { return it.image != nil }

// stored are the fields of an item, or of none.
func (it Item) stored() []field {
	if it.image == nil {
		return nil
	}
	return it.fields
}

// Len is the number of attributes.
func (it Item) Len() int { return len(it.stored()) }

// All are the attributes in the order of their names.
func (it Item) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, f := range it.stored() {
			if !yield(f.name, f.value) {
				return
			}
		}
	}
}

// Get is the value at a path; the zero Value if absent.
func (it Item) Get(path Path) Value {
	name, rest := path.cut()
	v := it.attribute(name)
	for rest != "" && v.kind != None {
		name, rest = rest.cut()
		v = v.step(name)
	}
	return v
}

// step is what a map or a list has at one step of a path.
func (v Value) step(name string) Value {
	if at, isIndex := indexOf(name); isIndex {
		if v.kind != List || at >= len(v.more.list) {
			return Value{}
		}
		return v.more.list[at]
	}
	if v.kind != Map {
		return Value{}
	}
	return v.more.fields.attribute(name)
}

func (it Item) attribute(name string) Value {
	return draft(it.stored()).attribute(name)
}

// find is where an attribute is among sorted fields, or belongs.
func find(fields []field, name string) (int, bool) {
	return slices.BinarySearchFunc(fields, name, func(f field, name string) int {
		return strings.Compare(f.name, name)
	})
}

// Has reports whether there is anything at a path.
func (it Item) Has(path Path) bool { return it.Get(path).kind != None }

// Equal reports whether two items have the same attributes.
func (it Item) Equal(o Item) bool {
	if it.image == o.image {
		return true
	}
	return it.Len() == o.Len() && it.Len() > 0 &&
		slices.EqualFunc(it.fields, o.fields, func(a, b field) bool {
			return a.name == b.name && a.value.Equal(b.value)
		})
}

// Only is what an item has of some attributes: a projection.
func (it Item) Only(attributes ...Path) Item {
	only := make([]field, 0, len(attributes))
	for _, f := range it.stored() {
		if slices.Contains(attributes, Path(f.name)) {
			only = append(only, f)
		}
	}
	return sealed(only)
}

// Digest distinguishes the item from others.
func (it Item) Digest() digest.Digest {
	if it.image == nil {
		return digest.Digest{}
	}
	it.once.Do(func() {
		it.digest.Int(int64(len(it.fields)))
		for _, f := range it.fields {
			it.digest.Text(f.name)
			f.value.Digest(&it.digest)
		}
	})
	return it.digest
}

// Size is what the item counts for by AWS's rules: at most 400 KB.
func (it Item) Size() int {
	if it.image == nil {
		return 0
	}
	size := int(it.size.Load())
	if size == 0 {
		for _, f := range it.fields {
			size += len(f.name) + f.value.size()
		}
		it.size.Store(int64(size))
	}
	return size
}

// String is for traces and failures.
func (it Item) String() string {
	var out strings.Builder
	for name, value := range it.All() {
		if out.Len() > 0 {
			out.WriteString(" ")
		}
		out.WriteString(name + ":" + value.String())
	}
	return "{" + out.String() + "}"
}

// with is the item with another value at a top attribute; a zero Value removes it.
func (it Item) with(name string, value Value) Item {
	d := draftOf(it, 1)
	d.set(name, value)
	return sealed(d)
}

// Merge is the item with the fields of another set or replaced.
func (it Item) Merge(o Item) Item {
	d := draftOf(it, o.Len())
	for name, value := range o.All() {
		d.set(name, value)
	}
	return sealed(d)
}

type memo struct{ decoded any }

// Decoded decodes an item. Items of a [Memory] that remembers are decoded once for each type:
// nobody may change what such a one was decoded to, and only one goroutine may read it.
func Decoded[T any](it Item, decode func(Item) (T, error)) (T, error) {
	if it.image == nil || it.memo == nil {
		return decode(it)
	}
	if known, ok := it.memo.decoded.(T); ok {
		return known, nil
	}
	decoded, err := decode(it)
	if err == nil {
		it.memo.decoded = decoded
	}
	return decoded, err
}
