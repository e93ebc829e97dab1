package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Given are the names of an object's members. The decoder sets a field of this type.
type Given map[string]bool

// Decode reads a JSON object into the struct that into points to. A field says what its member must
// be:
//
//	type settings struct {
//		Name    string            `json:"name" required:"true" bounds:"1..64"`
//		Mode    string            `json:"mode" one:"single batch" default:"single"`
//		Bytes   int               `json:"maxBytes" bounds:"1024..6291456"`
//		Timeout time.Duration     `json:"timeout" bounds:"1s..1m"`
//		Ports   []int             `json:"ports" bounds:"1..10" each:"1..65535" like:"[443, 8443]"`
//		Headers map[string]string `json:"headers" bounds:"0..10"`
//		Signed  *signature        `json:"signature"` // a struct; nil: not given
//		Given   strictjson.Given
//	}
//
// The bounds are of a text's bytes, of a list's elements and an object's members; without them a
// number is 1 or more, and a duration above 0. The fields of an embedded struct stand beside the
// others. A member that is not there leaves its field as it is. null is refused, unless the field
// is a [json.Unmarshaler]; an [encoding.TextUnmarshaler] gets a string. Check, which a struct may
// have, is called when all of its members are read.
//
// Errors are [invalid.Error]s, which name the path to the member, what it must be, and what it is.
func Decode(raw []byte, into any) error {
	members, err := Members(raw)
	if err != nil {
		return err
	}
	return DecodeMembers(members, into)
}

// DecodeMembers is [Decode] of an object whose members are read.
func DecodeMembers(members []Member, into any) error {
	d := newDecoder(into)
	for _, m := range members {
		f, v, err := d.field(m.Name)
		if err == nil {
			err = f.set(v, m.Value)
		}
		if err != nil {
			return In(m.Name, err)
		}
	}
	return d.finish()
}

// DecodeQuery is [Decode] of the parameters of a query, which are texts. An empty one is as if it
// were not there, unless its field is a pointer to a text.
func DecodeQuery(query url.Values, into any) error {
	d := newDecoder(into)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := query[name]
		f, v, err := d.field(name)
		switch {
		case err != nil:
		case len(values) > 1:
			err = invalid.New(invalid.Clash, "", "is given more than once: give it once")
		case len(values) == 1 && !utf8.ValidString(values[0]):
			err = malformed("is not valid UTF-8")
		case len(values) == 1 && (values[0] != "" || f.of != nil && f.of.text):
			err = f.setText(v, values[0])
		default:
			delete(d.given, name)
		}
		if err != nil {
			return In(name, err)
		}
	}
	return d.finish()
}

// In is an error of a member of an object, with the member's name before its path. An error that is
// no [invalid.Error] says that the value cannot be read.
func In(name string, err error) *invalid.Error {
	known, ok := errors.AsType[*invalid.Error](err)
	if name = Shortened(name); !ok {
		return invalid.Named(name, err)
	}
	inside := *known
	path := &inside.Field
	if len(known.At) > 0 {
		inside.At = slices.Clone(known.At)
		path = &inside.At[0].List
	}
	*path = strings.Trim(name+"."+*path, ".")
	return &inside
}

type decoder struct {
	into  reflect.Value
	shape *shape
	given Given
}

func newDecoder(into any) *decoder {
	v := reflect.ValueOf(into).Elem()
	return &decoder{v, shapeOf(v.Type()), Given{}}
}

func (d *decoder) field(name string) (*field, reflect.Value, error) {
	if d.given[name] = true; d.shape.fields[name] == nil {
		return nil, d.into, Unknown(d.shape.names)
	}
	f := d.shape.fields[name]
	return f, d.into.FieldByIndex(f.index), nil
}

// Unknown is the error of a member whose name is another than these.
func Unknown(names []string) error {
	return invalid.New(invalid.Unknown, "", "is not known: "+listed("there are ", names, "and"))
}

// finish checks what is missing, and what the struct itself checks.
func (d *decoder) finish() error {
	for _, name := range d.shape.names {
		switch f := d.shape.fields[name]; {
		case d.given[name]:
		case f.required:
			return invalid.New(invalid.Missing, name, "is missing: it must be "+f.must)
		case f.otherwise != "":
			if err := f.setText(d.into.FieldByIndex(f.index), f.otherwise); err != nil {
				return In(name, err)
			}
		}
	}
	if d.shape.given != nil {
		d.into.FieldByIndex(d.shape.given).Set(reflect.ValueOf(d.given))
	}
	if checked, has := d.into.Addr().Interface().(interface{ Check() error }); has {
		if err := checked.Check(); err != nil {
			return In("", err)
		}
	}
	return nil
}

func (f *field) set(v reflect.Value, raw json.RawMessage) error {
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.of.set(v.Elem(), raw)
	case f.text && First(raw) != '"':
		return f.wrong(invalid.Malformed, Shown(raw))
	case f.text:
		text, err := Text(raw)
		if err != nil {
			return err
		}
		return f.setText(v, text)
	}
	switch to := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*to = raw
		return nil
	case json.Unmarshaler:
		if err := to.UnmarshalJSON(raw); err != nil {
			return In("", err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return Decode(raw, v.Addr().Interface())
	case reflect.Slice:
		return f.setList(v, raw)
	case reflect.Map:
		return f.setMap(v, raw)
	case reflect.Bool:
		if v.SetBool(string(raw) == "true"); !v.Bool() && string(raw) != "false" {
			return f.wrong(invalid.Malformed, Shown(raw))
		}
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return f.wrong(invalid.OutOfRange, Shown(raw))
	}
	if err != nil || strconv.FormatInt(n, 10) != string(raw) {
		return f.wrong(invalid.Malformed, Shown(raw))
	}
	return f.setNumber(v, n, string(raw))
}

// rfc3339 is what package time takes more than: hours of one digit, fractions behind a comma, any
// offset.
var rfc3339 = regexp.MustCompile(
	`^.{10}T[0-9]{2}:.{5}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

func (f *field) setText(v reflect.Value, text string) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return f.of.setText(v.Elem(), text)
	}
	is := strconv.Quote(Shortened(text))
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		at, err := time.Parse(time.RFC3339Nano, text)
		if *to = at.UTC(); err != nil || !rfc3339.MatchString(text) || to.Year() < 0 || to.Year() > 9999 {
			return f.wrong(invalid.Malformed, is)
		}
		return nil
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return f.wrong(invalid.Malformed, is)
		}
		return f.setNumber(v, int64(d), is)
	case encoding.TextUnmarshaler:
		if err := to.UnmarshalText([]byte(text)); err != nil {
			return invalid.Named("", err)
		}
		return nil
	}
	if !f.text {
		return f.set(v, json.RawMessage(text))
	}
	v.SetString(text)
	switch n := int64(len(text)); {
	case len(f.choices) > 0 && !slices.Contains(f.choices, text):
		return f.wrong(invalid.Unknown, is)
	case n == 0 && f.least == 1:
		return invalid.New(invalid.Missing, "", "is empty: it must be "+f.must)
	case n < f.least || n > f.most:
		problem := fmt.Sprintf("has %d bytes: it must have %d to %d", n, f.least, f.most)
		return &invalid.Error{
			Code: invalid.TooLarge, Size: len(text), Most: int(f.most),
			Problem: strings.Replace(problem, "have 0 to", "have at most", 1),
		}
	}
	return nil
}

func (f *field) setNumber(v reflect.Value, n int64, is string) error {
	if n < f.least || n > f.most {
		return f.wrong(invalid.OutOfRange, is)
	}
	v.SetInt(n)
	return nil
}

func (f *field) setList(v reflect.Value, raw json.RawMessage) error {
	if !IsArray(raw) {
		return f.wrong(invalid.Malformed, Shown(raw))
	}
	list, err := Elements(raw, int(f.most))
	switch wrong := (*invalid.Error)(nil); {
	case errors.As(err, &wrong) && wrong.Code == invalid.OutOfRange:
		return f.wrong(invalid.OutOfRange, "longer")
	case err != nil:
		return err
	case int64(len(list)) < f.least:
		return f.wrong(invalid.OutOfRange, fmt.Sprintf("of %d", len(list)))
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	for i, element := range list {
		if err := f.of.set(v.Index(i), element); err != nil {
			return invalid.Within("", i, In("", err))
		}
	}
	return nil
}

func (f *field) setMap(v reflect.Value, raw json.RawMessage) error {
	members, err := Members(raw)
	if err == nil && int64(len(members)) > f.most {
		err = invalid.New(invalid.OutOfRange, "",
			fmt.Sprintf("has %d members: it must have at most %d", len(members), f.most))
	}
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(members)))
	for _, m := range members {
		value := reflect.New(v.Type().Elem()).Elem()
		if err := f.of.set(value, m.Value); err != nil {
			return In(m.Name, err)
		}
		v.SetMapIndex(reflect.ValueOf(m.Name), value)
	}
	return nil
}

func (f *field) wrong(code invalid.Code, is string) error {
	return invalid.New(code, "", "must be "+f.must+": it is "+is)
}

// Shown is the beginning of a JSON value, for an error; of an object or a list, that it is one.
func Shown(raw []byte) string {
	switch First(raw) {
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	if string(raw) == `""` {
		return "empty"
	}
	return Shortened(string(raw))
}

const maxShown = 40

// Shortened is the beginning of a text, for an error.
func Shortened(text string) string {
	if len(text) <= maxShown {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// First is the first byte of a JSON value; 0 if absent.
func First(raw []byte) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 {
		return raw[0]
	}
	return 0
}
