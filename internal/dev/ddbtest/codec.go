package ddbtest

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// FuzzCodec has a codec write a struct, which has to come back the same, and read items that have
// values of any kind in its attributes and in those beside: it may refuse them. Where read is nil
// it is the codec's own.
func FuzzCodec[T any](f *testing.F, codec ddb.Codec[T], read func(ddb.Item) (T, error),
	beside ...ddb.Path) {
	f.Helper()
	if read == nil {
		read = func(it ddb.Item) (T, error) { return codec.Decode(it) }
	}
	for seed := range uint64(100) {
		f.Add(seed, "a text", int64(1)<<62)
		f.Add(seed, "7", -int64(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string, n int64) {
		m := maker{rand.New(rand.NewPCG(seed, 0)), text, n}
		var want T
		m.fill(reflect.ValueOf(&want).Elem(), "")
		it := codec.Item(&want)
		got, d := codec.Read(it)
		if d.Err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v became %v, and that %+v, %v", want, it, *got, d.Err)
		}
		names, other := slices.Clone(beside), ddb.Fields{}
		for name := range codec.All(&want) {
			names = append(names, name)
		}
		for _, name := range names {
			if m.IntN(8) == 0 {
				other[name] = m.value(3)
			}
		}
		_, _ = read(it.Merge(other.Item()))
	})
}

// maker makes values of a text and a number.
type maker struct {
	*rand.Rand
	text string
	n    int64
}

// fill gives a field with a tag a value that the tables keep exactly.
func (m maker) fill(v reflect.Value, tag string) {
	_, one, _ := strings.Cut(tag, "one=")
	switch into := v.Addr().Interface().(type) {
	case *time.Time:
		*into = time.Unix(m.number()%1e9, 0).UTC()
		return
	case *time.Duration:
		*into = time.Duration(m.number()%1e9) * time.Millisecond
		return
	}
	switch v.Kind() {
	case reflect.String:
		some := []string{"", m.text}
		if one != "" {
			some = strings.Split(one, "|")
		}
		v.SetString(some[m.IntN(len(some))])
	case reflect.Int, reflect.Int64:
		v.SetInt(m.number())
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(m.n) & 0xff)
	case reflect.Bool:
		v.SetBool(m.IntN(2) == 0)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		m.fill(v.Index(0), "")
	case reflect.Map:
		name, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		m.fill(name, "")
		m.fill(element, "")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(name, element)
	case reflect.Array:
		for i := range v.Len() {
			m.fill(v.Index(i), "")
		}
	case reflect.Struct:
		for i := range v.NumField() {
			inner, ok := v.Type().Field(i).Tag.Lookup("ddb")
			must := strings.Contains(inner, "one=") && !strings.Contains(inner, "omitzero")
			if must || (ok || strings.Contains(tag, "int128")) && m.IntN(3) > 0 {
				m.fill(v.Field(i), inner)
			}
		}
	}
}

func (m maker) number() int64 {
	if m.IntN(2) == 0 {
		return m.n
	}
	return int64(m.IntN(3))
}

func (m maker) value(depth int) ddb.Value {
	var inner ddb.Value
	if depth > 0 {
		inner = m.value(depth - 1)
	}
	values := []ddb.Value{
		ddb.Text(m.text), ddb.Int(m.n), ddb.Int128(m.n, 1), ddb.Blob([]byte(m.text)), ddb.Bool(m.n > 0), ddb.Unreadable(),
		ddb.Blobs([]byte(m.text), nil), ddb.ListOf(), ddb.ListOf(inner, inner), ddb.MapOf(nil),
		ddb.MapOf(ddb.Fields{ddb.Path(m.text): inner, "n": inner, "7": inner}),
	}
	return values[m.IntN(len(values))]
}
