package strictjson

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

type shape struct {
	fields map[string]*field
	names  []string
	// given is where its Given is; nil: it has none.
	given []int
}

var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	if known, is := shapes.Load(t); is {
		return known.(*shape)
	}
	s := &shape{fields: map[string]*field{}}
	for _, of := range reflect.VisibleFields(t) {
		if name := of.Tag.Get("json"); name != "" {
			s.names = append(s.names, name)
			s.fields[name] = newField(of.Type, of.Tag)
			s.fields[name].index = of.Index
		}
		if of.Type == reflect.TypeFor[Given]() {
			s.given = of.Index
		}
	}
	shapes.Store(t, s)
	return s
}

// field is a field of a struct, or what one is made of, and what its tags say.
type field struct {
	index []int
	// text: it gets a string. must is what a value must be.
	required, text  bool
	must, otherwise string
	least, most     int64
	choices         []string
	// of is what a pointer, a list or a map is of.
	of *field
}

var (
	durations, times = reflect.TypeFor[time.Duration](), reflect.TypeFor[time.Time]()
	texts            = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func newField(t reflect.Type, tag reflect.StructTag) *field {
	f := &field{
		required: tag.Get("required") != "", otherwise: tag.Get("default"),
		choices: strings.Fields(tag.Get("one")),
		text:    t.Kind() == reflect.String || t == durations || reflect.PointerTo(t).Implements(texts),
	}
	example := tag.Get("like")
	each := `bounds:"` + tag.Get("each") + `"`
	f.bound(tag.Get("bounds"), t.Kind() == reflect.Int || t.Kind() == reflect.Int64)
	switch {
	case t.Kind() == reflect.Pointer:
		f.of = newField(t.Elem(), tag)
		f.must, example = f.of.must, ""
	case len(f.choices) > 0:
		f.must = listed("", f.choices, "or")
	case t == durations:
		f.must = f.number("a duration", func(n int64) string { return time.Duration(n).String() })
		if f.most == math.MaxInt64 {
			example = cmp.Or(example, `"90s", "5m" or "24h"`)
		}
	case t == times:
		f.must, example = "a time", cmp.Or(example, `"2026-01-02T15:04:05Z"`)
	case f.text:
		f.must = "a string"
	case t.Kind() == reflect.Slice:
		f.must, f.of = "a list", newField(t.Elem(), reflect.StructTag(each))
		if f.most < math.MaxInt64 {
			f.must += fmt.Sprintf(" of %d to %d elements", f.least, f.most)
		}
	case t.Kind() == reflect.Map:
		each += " like:" + strconv.Quote(example)
		f.must, f.of, example = "an object", newField(t.Elem(), reflect.StructTag(each)), ""
	case t.Kind() == reflect.Bool:
		f.must = "true or false"
	case t.Kind() == reflect.Struct:
		f.must = "an object"
	default:
		f.must = f.number("an integer", func(n int64) string { return strconv.FormatInt(n, 10) })
	}
	if example != "" {
		f.must += ", such as " + example
	}
	return f
}

// bound reads the bounds of a field: numbers or durations. A number is 1 or more without them.
func (f *field) bound(tag string, number bool) {
	if tag == "" && number {
		tag = "1.."
	}
	read := func(text string, otherwise int64) int64 {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		if d, err := time.ParseDuration(text); err == nil {
			return int64(d)
		}
		return otherwise
	}
	least, most, _ := strings.Cut(tag, "..")
	f.least, f.most = read(least, 0), read(most, math.MaxInt64)
}

func (f *field) number(what string, shown func(int64) string) string {
	switch {
	case f.most < math.MaxInt64:
		return fmt.Sprintf("%s from %s to %s", what, shown(f.least), shown(f.most))
	case f.least == 1 && what == "an integer":
		return "a positive integer"
	case f.least == 1:
		return what + " above 0"
	}
	return what + " from " + shown(f.least)
}

func listed(before string, names []string, word string) string {
	switch last := len(names) - 1; last {
	case -1:
		return "there are none"
	case 0:
		return strings.Replace(before, "are", "is", 1) + names[0]
	default:
		return before + strings.Join(names[:last], ", ") + " " + word + " " + names[last]
	}
}
