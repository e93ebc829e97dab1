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
type attributes struct{ list []*attribute }

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
	slices.SortFunc(a.list, func(a, b *attribute) int { return cmp.Compare(a.name, b.name) })
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
		a.list = append(a.list, &attribute{
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
	for _, known := range a.list {
		if v := known.of(from); v.kind != None {
			d = append(d, field{known.name, v})
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
	for _, known := range a.list {
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
	case t == timeType && has(options, "s"):
		return codingOfNumber(
			func(v reflect.Value) int64 { return timeOf(v).Unix() },
			func(v reflect.Value, s int64) { *timeOf(v) = fromSeconds(s) })
	case t == timeType:
		return codingOfNumber(
			func(v reflect.Value) int64 { return timeOf(v).UnixMilli() },
			func(v reflect.Value, ms int64) { *timeOf(v) = fromMillis(ms) })
	case t == durationType:
		return codingOfNumber(
			func(v reflect.Value) int64 { return time.Duration(v.Int()).Milliseconds() },
			func(v reflect.Value, ms int64) { v.SetInt(ms * int64(time.Millisecond)) })
	case is == reflect.Int || is == reflect.Int64:
		return codingOfNumber(reflect.Value.Int, reflect.Value.SetInt)
	case has(options, "int128"):
		return codingOf128()
	case is == reflect.String:
		return codingOfText(strings.Split(argument(options, "one"), "|"))
	case is == reflect.Bool:
		return codingOfBool(argument(options, "is"))
	case isBytes(t):
		return codingOfBytes(t)
	case is == reflect.Slice && isBytes(t.Elem()):
		return codingOfSet(t, codingOfBytes(t.Elem()))
	case is == reflect.Slice || is == reflect.Array:
		return codingOfList(t, codingOf(t.Elem(), ""))
	case t == textsType:
		return codingOfTexts()
	case is == reflect.Struct:
		a := attributesOf(t)
		return &coding{
			Map,
			func(v reflect.Value) Value { return mapOf(a.draft(v, 0)) },
			func(v Value, into reflect.Value) *fault { return a.read(v.Fields(), into) },
		}
	}
	panic("no item has a " + t.String())
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	textsType    = reflect.TypeFor[map[string]string]()
)

func timeOf(v reflect.Value) *time.Time { return v.Addr().Interface().(*time.Time) }

func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

func mapOf(sorted []field) Value { return Value{kind: Map, more: &elements{fields: sealed(sorted)}} }

func codingOfNumber(write func(reflect.Value) int64, read func(reflect.Value, int64)) *coding {
	return &coding{
		Number,
		func(v reflect.Value) Value { return Int(write(v)) },
		func(v Value, into reflect.Value) *fault {
			n, ok := v.Int64()
			if read(into, n); !ok || write(into) != n {
				return faulty("is %v, which is not an integer that fits", v)
			}
			return nil
		},
	}
}

func codingOf128() *coding {
	return &coding{
		Number,
		func(v reflect.Value) Value { return Int128(v.Field(0).Int(), v.Field(1).Uint()) },
		func(v Value, into reflect.Value) *fault {
			into.Field(0).SetInt(v.hi)
			into.Field(1).SetUint(v.lo)
			return nil
		},
	}
}

// codingOfText is that of a text, which is one of some where there are more than one.
func codingOfText(one []string) *coding {
	return &coding{
		String,
		func(v reflect.Value) Value { return Text(v.String()) },
		func(v Value, into reflect.Value) *fault {
			if len(one) > 1 && !slices.Contains(one, v.text) {
				return faulty("is %q, which this version does not know", v.text)
			}
			into.SetString(v.text)
			return nil
		},
	}
}

// codingOfBool is that of a truth which is a boolean, or where it is true a text, or the number 1.
func codingOfBool(is string) *coding {
	write := func(v reflect.Value) Value { return Bool(v.Bool()) }
	switch is {
	case "":
	case "1":
		write = func(reflect.Value) Value { return Int(1) }
	default:
		write = func(reflect.Value) Value { return Text(is) }
	}
	truth := write(reflect.ValueOf(true))
	return &coding{truth.kind, write, func(v Value, into reflect.Value) *fault {
		into.SetBool(v.Equal(truth))
		return nil
	}}
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

func codingOfTexts() *coding {
	return &coding{
		Map,
		func(v reflect.Value) Value {
			texts := *v.Addr().Interface().(*map[string]string)
			d := make(draft, 0, len(texts))
			for name, text := range texts {
				d.set(name, Text(text))
			}
			return mapOf(d)
		},
		func(v Value, into reflect.Value) *fault {
			texts := make(map[string]string, v.Fields().Len())
			*into.Addr().Interface().(*map[string]string) = texts
			for name, v := range v.Fields().All() {
				if v.kind != String {
					return (&fault{"", v.kind.instead(String)}).in(Path(name))
				}
				texts[name] = v.text
			}
			return nil
		},
	}
}
