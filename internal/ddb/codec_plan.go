package ddb

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// attributes are those of a struct, sorted by name as an item's fields are, so that both are gone
// through side by side.
type attributes []*attribute

type attribute struct {
	name string
	// field is where it is in the struct, through those that are inline.
	field []int
	// omit: it is left out where it is zero. loose: it may be missing. key: errors show it.
	omit, loose, key bool
	*coding
}

// planned has the attributes of each struct, and codings the coding of each type without options.
var planned, codings sync.Map

// attributesOf panics where a tag is wrong: a mistake in the program.
func attributesOf(t reflect.Type) attributes {
	if stored, ok := planned.Load(t); ok {
		return stored.(attributes)
	}
	var a attributes
	a.add(t, nil)
	slices.SortFunc(a, func(a, b *attribute) int { return cmp.Compare(a.name, b.name) })
	planned.Store(t, a)
	return a
}

// known are the options of a tag, and none.
var known = []string{"", "b", "inline", "int128", "is", "key", "omitzero", "one", "optional", "s"}

func (a *attributes) add(t reflect.Type, within []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		text, ok := f.Tag.Lookup("ddb")
		if !ok {
			continue
		}
		at := append(slices.Clone(within), i)
		name, options, _ := strings.Cut(text, ",")
		for option := range strings.SplitSeq(options, ",") {
			if o, _, _ := strings.Cut(option, "="); !slices.Contains(known, o) || !f.IsExported() {
				panic(t.String() + ": no item has the field " + f.Name + " as " + text)
			}
		}
		if has(options, "inline") {
			a.add(f.Type, at)
			continue
		}
		omit := has(options, "omitzero")
		if !omit && (argument(options, "is") != "" || f.Type.Kind() == reflect.Pointer) {
			panic(t.String() + ": without omitzero, there is nothing to write for the zero " + f.Name)
		}
		*a = append(*a, &attribute{
			name, at, omit, omit || has(options, "optional"), has(options, "key"), codingOf(f.Type, options),
		})
	}
}

// has reports whether there is an option among those between commas.
func has(options, option string) bool { return strings.Contains(","+options+",", ","+option+",") }

func argument(options, option string) string {
	_, rest, _ := strings.Cut(","+options, ","+option+"=")
	value, _, _ := strings.Cut(rest, ",")
	return value
}

// of is an attribute of a struct; the zero Value where it is left out.
func (a *attribute) of(from reflect.Value) Value {
	v := from.FieldByIndex(a.field)
	is := v.Kind()
	if a.omit && (v.IsZero() || (is == reflect.Slice || is == reflect.Map) && v.Len() == 0) {
		return Value{}
	}
	if is == reflect.Pointer {
		v = v.Elem()
	}
	return a.write(v)
}

// drafts are where items are made, so that each has the room that it takes.
var drafts = sync.Pool{New: func() any { return new(draft) }}

func (a attributes) draft(from reflect.Value, more int) draft {
	made := drafts.Get().(*draft)
	defer drafts.Put(made)
	d := (*made)[:0]
	for _, one := range a {
		if v := one.of(from); v.kind != None {
			d = append(d, field{one.name, v})
		}
	}
	item := append(make(draft, 0, len(d)+more), d...)
	clear(d) // nothing of an item outlives it here
	*made = d
	return item
}

// fault is what is wrong with an attribute; nil for nothing.
type fault struct {
	at      Path
	problem string
}

func faulty(format string, arguments ...any) *fault {
	return &fault{"", fmt.Sprintf(format, arguments...)}
}

// in is the fault of what is in a map, or in a list, at a step.
func (f *fault) in(step Path) *fault {
	if f.at != "" {
		step = step.At(string(f.at))
	}
	f.at = step
	return f
}

func (a attributes) read(it Item, into reflect.Value) *fault {
	fields := it.stored()
	for _, one := range a {
		for len(fields) > 0 && fields[0].name < one.name {
			fields = fields[1:]
		}
		var v Value
		if len(fields) > 0 && fields[0].name == one.name {
			v = fields[0].value
		} else if one.loose {
			continue
		}
		at := into.FieldByIndex(one.field)
		if at.Kind() == reflect.Pointer {
			at.Set(reflect.New(one.coding.of))
			at = at.Elem()
		}
		if f := one.read(v, at); f != nil {
			return f.in(Path(one.name))
		}
	}
	return nil
}

type coding struct {
	form
	kind Kind
	of   reflect.Type
	// truth is what true is stored as, one the texts that there are, where that is not any.
	truth Value
	one   []string
	// element is the coding of the elements of a list, a set or a map by names, fields are those of
	// a struct.
	element *coding
	fields  attributes
}

type form uint8

const (
	asMillis form = iota
	asSeconds
	asDuration
	asInt
	as128
	asText
	asTruth
	asBytes
	asSet
	asList
	asMap
	asFields
)

var kindOf = [...]Kind{
	asMillis: Number, asSeconds: Number, asDuration: Number, asInt: Number, as128: Number, asText: String,
	asBytes: Binary, asSet: BinarySet, asList: List, asMap: Map, asFields: Map,
}

func codingOf(t reflect.Type, options string) *coding {
	if options != "" {
		return newCoding(t, options)
	}
	if stored, ok := codings.Load(t); ok {
		return stored.(*coding)
	}
	c := newCoding(t, options)
	codings.Store(t, c)
	return c
}

func newCoding(t reflect.Type, options string) *coding {
	c := &coding{of: t}
	switch is := t.Kind(); {
	case is == reflect.Pointer:
		return newCoding(t.Elem(), options)
	case t == reflect.TypeFor[time.Time]() && has(options, "s"):
		c.form = asSeconds
	case t == reflect.TypeFor[time.Time]():
		c.form = asMillis
	case t == reflect.TypeFor[time.Duration]():
		c.form = asDuration
	case has(options, "int128"):
		c.form = as128
	case is == reflect.Int || is == reflect.Int64:
		c.form = asInt
	case is == reflect.String:
		c.form = asText
		if one := argument(options, "one"); one != "" {
			c.one = strings.Split(one, "|")
		}
		if has(options, "b") {
			c.kind = Binary
			return c
		}
	case is == reflect.Bool:
		c.form, c.truth = asTruth, Bool(true)
		if text := argument(options, "is"); text == "1" {
			c.truth = Int(1)
		} else if text != "" {
			c.truth = Text(text)
		}
		c.kind = c.truth.kind
		return c
	case isBytes(t):
		c.form = asBytes
	case is == reflect.Slice && isBytes(t.Elem()):
		c.form, c.element = asSet, codingOf(t.Elem(), "")
	case is == reflect.Slice || is == reflect.Array:
		c.form, c.element = asList, codingOf(t.Elem(), "")
	case is == reflect.Map && (t.Key().Kind() == reflect.String || t.Key().Kind() == reflect.Int):
		c.form, c.element = asMap, codingOf(t.Elem(), "")
	case is == reflect.Struct:
		c.form, c.fields = asFields, attributesOf(t)
	default:
		panic("no item has a " + t.String())
	}
	c.kind = kindOf[c.form]
	return c
}

func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

// pointed is what a field is of a type that is known. A pointer in an interface is no allocation.
func pointed[T any](v reflect.Value) *T { return v.Addr().Interface().(*T) }

func mapOf(sorted []field) Value {
	return Value{kind: Map, more: &elements{fields: sealed(sorted)}}
}

func (c *coding) write(v reflect.Value) Value {
	switch c.form {
	case asMillis:
		return Millis(*pointed[time.Time](v))
	case asSeconds:
		return Seconds(*pointed[time.Time](v))
	case asDuration:
		return Int(time.Duration(v.Int()).Milliseconds())
	case asInt:
		return Int(v.Int())
	case as128:
		return Int128(v.Field(0).Int(), v.Field(1).Uint())
	case asText:
		return Value{kind: c.kind, text: v.String()}
	case asTruth:
		if c.kind == Boolean {
			return Bool(v.Bool())
		}
		return c.truth
	case asBytes:
		return Blob(v.Bytes())
	case asSet:
		texts := make([]string, v.Len())
		for i := range texts {
			texts[i] = string(v.Index(i).Bytes())
		}
		return setOf(texts)
	case asList:
		n := v.Len()
		for c.of.Kind() == reflect.Array && n > 0 && v.Index(n-1).IsZero() {
			n--
		}
		list := make([]Value, n)
		for i := range list {
			list[i] = c.element.write(v.Index(i))
		}
		return ListOf(list...)
	case asMap:
		d := make(draft, 0, v.Len())
		name, element := c.entry()
		for all := v.MapRange(); all.Next(); {
			name.SetIterKey(all)
			element.SetIterValue(all)
			step := name.String()
			if name.CanInt() {
				step = strconv.FormatInt(name.Int(), 10)
			}
			d.set(step, c.element.write(element))
		}
		return mapOf(d)
	case asFields:
		return mapOf(c.fields.draft(v, 0))
	}
	return Value{}
}

// read reads a value, which has to be there and of the kind.
func (c *coding) read(v Value, into reflect.Value) *fault {
	if v.kind != c.kind {
		return &fault{"", v.kind.instead(c.kind)}
	}
	n, fits := v.Int64()
	switch c.form {
	case asMillis:
		*pointed[time.Time](into) = fromMillis(n)
	case asSeconds:
		*pointed[time.Time](into) = fromSeconds(n)
	case asDuration:
		into.SetInt(n * int64(time.Millisecond))
		fits = fits && into.Int()/int64(time.Millisecond) == n
	case asInt:
		into.SetInt(n)
	case as128:
		into.Field(0).SetInt(v.hi)
		into.Field(1).SetUint(v.lo)
		fits = true
	case asText:
		into.SetString(v.text)
		if c.one != nil && !slices.Contains(c.one, v.text) {
			return faulty("is %q, which this version does not know", v.text)
		}
	case asTruth:
		into.SetBool(v.Equal(c.truth))
		return nil
	case asBytes:
		if c.of.Kind() == reflect.Slice {
			into.SetBytes(v.Bytes())
		} else if copy(into.Bytes(), v.text) != len(v.text) || len(v.text) != c.of.Len() {
			return faulty("is of %d bytes, and must be of %d", len(v.text), c.of.Len())
		}
	case asSet:
		into.Set(reflect.MakeSlice(c.of, len(v.more.set), len(v.more.set)))
		for i, text := range v.more.set {
			if f := c.element.read(Value{kind: Binary, text: text}, into.Index(i)); f != nil {
				return f
			}
		}
	case asList:
		return c.readList(v.more.list, into)
	case asMap:
		return c.readMap(v.Fields(), into)
	case asFields:
		return c.fields.read(v.Fields(), into)
	}
	if c.kind == Number && !fits {
		return faulty("is %v, which is not an integer that fits", v)
	}
	return nil
}

func (c *coding) entry() (name, element reflect.Value) {
	return reflect.New(c.of.Key()).Elem(), reflect.New(c.of.Elem()).Elem()
}

func (c *coding) readMap(fields Item, into reflect.Value) *fault {
	into.Set(reflect.MakeMapWithSize(c.of, fields.Len()))
	name, element := c.entry()
	for step, v := range fields.All() {
		if !name.CanInt() {
			name.SetString(step)
		} else if n, err := strconv.Atoi(step); err == nil {
			name.SetInt(int64(n))
		} else {
			return faulty("is under what is no number").in(Path(step))
		}
		element.SetZero()
		if f := c.element.read(v, element); f != nil {
			return f.in(Path(step))
		}
		into.SetMapIndex(name, element)
	}
	return nil
}

// readList reads a list, into an array its beginning.
func (c *coding) readList(list []Value, into reflect.Value) *fault {
	if c.of.Kind() == reflect.Slice && len(list) > 0 {
		into.Set(reflect.MakeSlice(c.of, len(list), len(list)))
	}
	for i, v := range list {
		if i == into.Len() {
			return faulty("is a list of %d, and must be of %d at most", len(list), i)
		}
		if f := c.element.read(v, into.Index(i)); f != nil {
			return f.in(Path("").Index(i)[len(stepMark):])
		}
	}
	return nil
}
