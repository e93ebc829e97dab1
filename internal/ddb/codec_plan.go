package ddb

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// attributes are those of a struct, sorted by name as an item's fields are, so that both are
// gone through side by side.
type attributes struct{ list []attribute }

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
func attributesOf(t reflect.Type) *attributes {
	if known, ok := planned.Load(t); ok {
		return known.(*attributes)
	}
	var a attributes
	a.add(t, nil)
	slices.SortFunc(a.list, func(a, b attribute) int { return cmp.Compare(a.name, b.name) })
	known, _ := planned.LoadOrStore(t, &a)
	return known.(*attributes)
}

func (a *attributes) add(t reflect.Type, within []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		text, ok := f.Tag.Lookup("ddb")
		if !ok {
			continue
		}
		at := append(slices.Clone(within), i)
		name, options, _ := strings.Cut(text, ",")
		if has(options, "inline") {
			a.add(f.Type, at)
			continue
		}
		omit := has(options, "omitzero")
		a.list = append(a.list, attribute{
			name, at, omit, omit || has(options, "optional"), has(options, "key"), codingOf(f.Type, options),
		})
	}
}

// has reports whether there is an option among those between commas.
func has(options, option string) bool { return strings.Contains(","+options+",", ","+option+",") }

// argument is what follows an option and "=".
func argument(options, option string) string {
	_, rest, _ := strings.Cut(","+options, ","+option+"=")
	value, _, _ := strings.Cut(rest, ",")
	return value
}

// of is an attribute of a struct; the zero Value where it is left out.
func (a *attribute) of(from reflect.Value) Value {
	v := from.FieldByIndex(a.field)
	if a.omit && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
		return Value{}
	}
	return a.write(v)
}

// drafts are where items are made, so that each has the room that it takes.
var drafts = sync.Pool{New: func() any { return new(draft) }}

// draft is the item of a struct, with room for more.
func (a *attributes) draft(from reflect.Value, more int) draft {
	made := drafts.Get().(*draft)
	defer drafts.Put(made)
	d := (*made)[:0]
	for i := range a.list {
		if v := a.list[i].of(from); v.kind != None {
			d = append(d, field{a.list[i].name, v})
		}
	}
	*made = d
	return append(make(draft, 0, len(d)+more), d...)
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
	if f != nil && f.at != "" {
		step = step.At(string(f.at))
	}
	if f != nil {
		f.at = step
	}
	return f
}

// read reads an item, or the fields of a map, into a struct.
func (a *attributes) read(it Item, into reflect.Value) *fault {
	fields := it.stored()
	for i := range a.list {
		known := &a.list[i]
		for len(fields) > 0 && fields[0].name < known.name {
			fields = fields[1:]
		}
		var v Value
		if len(fields) > 0 && fields[0].name == known.name {
			v = fields[0].value
		} else if known.loose {
			continue
		}
		if f := known.check(v, into.FieldByIndex(known.field)); f != nil {
			return f.in(Path(known.name))
		}
	}
	return nil
}

func (it Item) stored() []field {
	if it.image == nil {
		return nil
	}
	return it.fields
}

// keys shows the keys of an item that cannot be read.
func (a *attributes) keys(it Item) (shown string) {
	for _, a := range a.list {
		if a.key {
			shown += fmt.Sprintf(" %s=%q", a.name, it.attribute(a.name))
		}
	}
	return shown
}

// coding is how a type is written and read.
type coding struct {
	kind  Kind
	write func(reflect.Value) Value
	read  func(Value, reflect.Value) *fault
}

// check reads a value, which has to be there and of the kind.
func (c *coding) check(v Value, into reflect.Value) *fault {
	if v.kind != c.kind {
		return &fault{"", v.kind.instead(c.kind)}
	}
	return c.read(v, into)
}

var timeType, durationType = reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration]()

func codingOf(t reflect.Type, options string) *coding {
	if options != "" {
		return newCoding(t, options)
	}
	if known, ok := codings.Load(t); ok {
		return known.(*coding)
	}
	known, _ := codings.LoadOrStore(t, newCoding(t, options))
	return known.(*coding)
}

func newCoding(t reflect.Type, options string) *coding {
	is := t.Kind()
	switch {
	case t == timeType:
		return codingOfTime(has(options, "s"))
	case t == durationType:
		return codingOfInt(int64(time.Millisecond))
	case has(options, "int128"):
		return &coding{
			Number,
			func(v reflect.Value) Value { return Int128(v.Field(0).Int(), v.Field(1).Uint()) },
			func(v Value, into reflect.Value) *fault {
				into.Field(0).SetInt(v.hi)
				into.Field(1).SetUint(v.lo)
				return nil
			},
		}
	case is == reflect.String:
		var one []string
		if all := argument(options, "one"); all != "" {
			one = strings.Split(all, "|")
		}
		return codingOfText(has(options, "binary"), one)
	case is == reflect.Int || is == reflect.Int64:
		return codingOfInt(1)
	case is == reflect.Bool:
		return codingOfBool(argument(options, "is"))
	case isBytes(t):
		return codingOfBytes(t)
	case is == reflect.Slice && isBytes(t.Elem()):
		return codingOfSet(t, codingOfBytes(t.Elem()))
	case is == reflect.Slice || is == reflect.Array:
		return codingOfList(t, codingOf(t.Elem(), ""))
	case is == reflect.Map:
		return codingOfMap(t, codingOf(t.Elem(), ""))
	case is == reflect.Struct:
		return codingOfStruct(attributesOf(t))
	}
	panic("no item has a " + t.String())
}

func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

func codingOfTime(seconds bool) *coding {
	write, read := Millis, fromMillis
	if seconds {
		write, read = Seconds, fromSeconds
	}
	return &coding{
		Number,
		func(v reflect.Value) Value { return write(*v.Addr().Interface().(*time.Time)) },
		func(v Value, into reflect.Value) *fault {
			n, ok := v.Int64()
			if !ok {
				return faulty("is %v, which is not a 64-bit integer", v)
			}
			*into.Addr().Interface().(*time.Time) = read(n)
			return nil
		},
	}
}

// codingOfInt is that of integers, which are stored divided by a unit.
func codingOfInt(unit int64) *coding {
	return &coding{
		Number,
		func(v reflect.Value) Value { return Int(v.Int() / unit) },
		func(v Value, into reflect.Value) *fault {
			n, ok := v.Int64()
			if !ok || n*unit/unit != n {
				return faulty("is %v, which is not a 64-bit integer", v)
			}
			into.SetInt(n * unit)
			return nil
		},
	}
}

func codingOfText(binary bool, one []string) *coding {
	c := &coding{
		String,
		func(v reflect.Value) Value { return Text(v.String()) },
		func(v Value, into reflect.Value) *fault {
			if one != nil && !slices.Contains(one, v.text) {
				return faulty("is %q, which this version does not know", v.text)
			}
			into.SetString(v.text)
			return nil
		},
	}
	if binary {
		c.kind, c.write = Binary, func(v reflect.Value) Value { return Value{kind: Binary, text: v.String()} }
	}
	return c
}

// codingOfBool is that of a truth which is a boolean, or where it is true a text, or the number 1.
func codingOfBool(is string) *coding {
	truth := Text(is)
	switch is {
	case "":
		return &coding{
			Boolean,
			func(v reflect.Value) Value { return Bool(v.Bool()) },
			func(v Value, into reflect.Value) *fault { into.SetBool(v.True()); return nil },
		}
	case "1":
		truth = Int(1)
	}
	return &coding{
		truth.kind,
		func(reflect.Value) Value { return truth },
		func(v Value, into reflect.Value) *fault { into.SetBool(v.Equal(truth)); return nil },
	}
}

func codingOfBytes(t reflect.Type) *coding {
	return &coding{
		Binary,
		func(v reflect.Value) Value { return Blob(v.Bytes()) },
		func(v Value, into reflect.Value) *fault {
			switch {
			case t.Kind() == reflect.Slice:
				into.SetBytes(v.Bytes())
			case len(v.text) != t.Len():
				return faulty("is of %d bytes, and must be of %d", len(v.text), t.Len())
			default:
				copy(into.Bytes(), v.text)
			}
			return nil
		},
	}
}

// codingOfSet is that of a set of bytes, which is sorted.
func codingOfSet(t reflect.Type, member *coding) *coding {
	return &coding{
		BinarySet,
		func(v reflect.Value) Value {
			texts := make([]string, v.Len())
			for i := range texts {
				texts[i] = string(v.Index(i).Bytes())
			}
			return setOf(texts)
		},
		func(v Value, into reflect.Value) *fault {
			into.Set(reflect.MakeSlice(t, len(v.more.set), len(v.more.set)))
			for i, text := range v.more.set {
				if f := member.read(Value{kind: Binary, text: text}, into.Index(i)); f != nil {
					return f
				}
			}
			return nil
		},
	}
}

// codingOfList is that of a list; an array's ends before the zeros at its end.
func codingOfList(t reflect.Type, element *coding) *coding {
	return &coding{
		List,
		func(v reflect.Value) Value {
			n := v.Len()
			for t.Kind() == reflect.Array && n > 0 && v.Index(n-1).IsZero() {
				n--
			}
			list := make([]Value, n)
			for i := range list {
				list[i] = element.write(v.Index(i))
			}
			return ListOf(list...)
		},
		func(v Value, into reflect.Value) *fault {
			list := v.more.list
			switch {
			case t.Kind() == reflect.Slice && len(list) > 0:
				into.Set(reflect.MakeSlice(t, len(list), len(list)))
			case t.Kind() == reflect.Array && len(list) > t.Len():
				return faulty("is a list of %d, and must be of %d at most", len(list), t.Len())
			}
			for i, v := range list {
				if f := element.check(v, into.Index(i)); f != nil {
					return f.in(Path("").Index(i)[len(stepMark):])
				}
			}
			return nil
		},
	}
}

// codingOfMap is that of a map by names.
func codingOfMap(t reflect.Type, element *coding) *coding {
	return &coding{
		Map,
		func(v reflect.Value) Value {
			d := make(draft, 0, v.Len())
			for each := v.MapRange(); each.Next(); {
				one := reflect.New(t.Elem()).Elem()
				one.Set(each.Value())
				d.set(each.Key().String(), element.write(one))
			}
			return Value{kind: Map, more: &elements{fields: sealed(d)}}
		},
		func(v Value, into reflect.Value) *fault {
			into.Set(reflect.MakeMapWithSize(t, v.Fields().Len()))
			for name, v := range v.Fields().All() {
				one := reflect.New(t.Elem()).Elem()
				if f := element.check(v, one); f != nil {
					return f.in(Path(name))
				}
				into.SetMapIndex(reflect.ValueOf(name), one)
			}
			return nil
		},
	}
}

func codingOfStruct(a *attributes) *coding {
	return &coding{
		Map,
		func(v reflect.Value) Value {
			return Value{kind: Map, more: &elements{fields: sealed(a.draft(v, 0))}}
		},
		func(v Value, into reflect.Value) *fault { return a.read(v.Fields(), into) },
	}
}
