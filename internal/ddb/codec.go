package ddb

import (
	"fmt"
	"iter"
	"reflect"
)

// version is the attribute that has the layout of an item.
const version = "v"

// A Codec writes the items of a struct, and reads them, by the tags of its fields:
//
//	Queue   string        `ddb:"queue,key"`         // must be there, and is shown in errors
//	Until   time.Time     `ddb:"until,omitzero"`    // ms; left out where it is zero
//	Expires time.Time     `ddb:"expiresOn,s"`       // s, as TTL wants it
//	Idle    time.Duration `ddb:"idle,optional"`     // ms; always written, may be missing
//	State   State         `ddb:"state,one=A|B"`     // one of these texts
//	Old     bool          `ddb:"old,omitzero,is=1"` // true is this number, or this text
//	High    SortKey       `ddb:"high,omitzero,b"`   // a text that is stored as bytes
//	Token   Token         `ddb:",inline"`           // its fields are attributes of the item
//	Who     Who           `ddb:"who,omitzero"`      // a map
//
// The kind of an attribute follows from the field: texts, integers, booleans, bytes and arrays of
// bytes (binary), slices of these (a set), other slices and arrays (a list, without the zeros at an
// array's end), maps by texts or integers, structs (a map). A struct of two halves with the option
// int128 is a number. A pointer is what it points to, and left out where it is nil. A field without
// a tag is not in the item.
type Codec[T any] struct{ codec }

// codec is what is the same for all structs: a function with a parameter is compiled for each.
type codec struct {
	of            reflect.Type
	what          string
	writes, reads int64
}

// NewCodec returns the Codec of what the items are called in errors. It writes them in a layout,
// and reads older ones and those up to another; 0 for items that have none.
func NewCodec[T any](what string, writes, reads int64) Codec[T] {
	return Codec[T]{codec{reflect.TypeFor[T](), what, writes, reads}}
}

// All are the attributes of a value by their names, without its layout: the zero Value for each
// that is left out.
func (c Codec[T]) All(t *T) iter.Seq2[Path, Value] { return c.all(reflect.ValueOf(t).Elem()) }

func (c codec) all(from reflect.Value) iter.Seq2[Path, Value] {
	return func(yield func(Path, Value) bool) {
		for _, a := range attributesOf(c.of) {
			if !yield(Path(a.name), a.of(from)) {
				return
			}
		}
	}
}

// Item is the item of a value, with what is set and removed beside its fields.
func (c Codec[T]) Item(t *T, beside ...Action) Item {
	return c.item(reflect.ValueOf(t).Elem(), beside)
}

func (c codec) item(from reflect.Value, beside []Action) Item {
	d := attributesOf(c.of).draft(from, len(beside)+1)
	if c.writes > 0 {
		d.set(version, Int(c.writes))
	}
	for _, a := range beside {
		d.set(string(a.Path), a.Value)
	}
	return sealed(d)
}

// Decode reads an item, and then what else there is to read of it; the zero T for none. The error
// says what the item is, its keys, the attribute, and what is wrong with it.
func (c Codec[T]) Decode(it Item, more ...func(*T, *Decoder)) (T, error) {
	t, d := c.Read(it)
	for _, read := range more {
		if it.Exists() {
			read(t, d)
		}
	}
	return c.Checked(t, d)
}

// Checked is what was read, or the error of its decoder with what the item is.
func (c Codec[T]) Checked(t *T, d *Decoder) (T, error) {
	if d.Err != nil {
		var none T
		return none, c.unreadable(d)
	}
	return *t, nil
}

// Read is Decode for a caller that makes the error of the decoder's itself.
func (c Codec[T]) Read(it Item) (*T, *Decoder) {
	both := new(struct {
		t T
		d Decoder
	})
	both.d.Item = it
	c.read(&both.d, reflect.ValueOf(&both.t).Elem())
	return &both.t, &both.d
}

func (c codec) read(d *Decoder, into reflect.Value) {
	if !d.Item.Exists() {
		return
	}
	if c.reads > 0 {
		d.Layout(version, c.reads)
	}
	if f := attributesOf(c.of).read(d.Item, into); f != nil {
		d.Fail(f.at, f.problem)
	}
}

func (c codec) unreadable(d *Decoder) error {
	what := c.what
	for _, a := range attributesOf(c.of) {
		if a.key {
			what += fmt.Sprintf(" %s=%q", a.name, d.Item.attribute(a.name))
		}
	}
	return fmt.Errorf("%s: %w", what, d.Err)
}

// ValueOf is the value that a field of the type has in an item.
func ValueOf[T any](t T) Value {
	return codingOf(reflect.TypeFor[T](), "").write(reflect.ValueOf(&t).Elem())
}

// ReadValue reads what ValueOf wrote as an element of a map of the decoder's item.
func ReadValue[T any](d *Decoder, at Path, step string, v Value, into *T) {
	readValue(d, at, step, v, reflect.ValueOf(into).Elem())
}

func readValue(d *Decoder, at Path, step string, v Value, into reflect.Value) {
	into.SetZero()
	if f := codingOf(into.Type(), "").read(v, into); f != nil {
		f = f.in(Path(step)).in(at)
		d.Fail(f.at, f.problem)
	}
}
