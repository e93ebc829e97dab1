package mapping

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Event is what paths find values in. Each object of its document is read once.
type Event struct {
	// Document is what names lead into: JSON, where one does.
	Document []byte
	// Headers are those of the request, by their names in small letters.
	Headers map[string]string
	// Received is when it came.
	Received time.Time
	// Fields are the variables of its kind, each a text ([string]), a number ([json.Number]) or
	// bytes. What it does not have is left out.
	Fields map[string]any

	// whole is what it is an element of, at a place; nil where it is the whole.
	whole *Event
	place int
	// read are the objects and lists that were read, form is the body as one.
	read []read
	form url.Values
	// bytes are those of the texts that steps lead into, by their variables and arguments.
	bytes map[[2]string][]byte
}

// read is an object or a list, by its first byte.
type read struct {
	at       *byte
	members  []strictjson.Member
	elements []json.RawMessage
	// all: there are no more elements.
	all bool
}

type kind int

const (
	absent kind = iota
	inJSON
	text
	number
	binary
)

type value struct {
	kind kind
	// raw is JSON, or bytes; text is a text, or the digits of a number.
	raw  []byte
	text string
	// at is the term that found it.
	at *term
}

// find is the value at a path: of its first alternative that is present. An error is what is broken
// in the event.
func (p path) find(e *Event) (value, error) {
	for i := range p {
		if holds, err := e.holds(p[i].when); err != nil || !holds {
			if err != nil {
				return value{at: &p[i]}, err
			}
			continue
		}
		v, err := e.find(&p[i])
		if err != nil || v.kind != absent {
			v.at = &p[i]
			return v, err
		}
	}
	return value{}, nil
}

func (e *Event) holds(c *condition) (bool, error) {
	if c == nil {
		return true, nil
	}
	v, err := e.find(&c.of)
	if err != nil || v.kind == absent || c.equals == nil {
		return v.kind != absent, err
	}
	if v.kind == inJSON && strictjson.First(v.raw) == '"' {
		v.text, err = strictjson.Text(v.raw)
	} else if v.kind == inJSON || v.kind == binary {
		v.text = string(v.raw)
	}
	return slices.Contains(c.equals, v.text), err
}

// find is the value of a term. Nothing is there, too, where that is null, or an empty text.
func (e *Event) find(t *term) (value, error) {
	switch t.variable {
	case "":
		if t.literal != "" {
			return value{kind: text, text: t.literal}, nil
		}
		return e.within(e.Document, t)
	case header:
		return ofText(strings.TrimSpace(e.Headers[t.header])), nil
	case form:
		e = e.top()
		if e.form == nil {
			e.form, _ = url.ParseQuery(string(e.Document))
		}
		return e.inside(ofText(e.form.Get(t.argument)), t)
	case received:
		return ofText(e.Received.UTC().Format(time.RFC3339Nano)), nil
	case digest:
		sum := sha256.Sum256(e.Document)
		return value{kind: text, text: hex.EncodeToString(sum[:])}, nil
	case whole:
		return e.top().within(e.top().Document, t)
	case index:
		return value{kind: number, text: strconv.Itoa(e.place)}, nil
	}
	e = e.top() // what is beside the elements is read once
	switch field := e.Fields[t.variable].(type) {
	case string:
		return e.inside(ofText(field), t)
	case json.Number:
		return value{kind: number, text: field.String()}, nil
	case []byte:
		return e.inside(value{kind: binary, raw: field}, t)
	}
	return value{}, nil
}

func (e *Event) top() *Event {
	if e.whole != nil {
		return e.whole
	}
	return e
}

func ofText(s string) value {
	if s == "" {
		return value{}
	}
	return value{kind: text, text: s}
}

// inside is the value of a variable, or what its steps lead to: it is JSON then.
func (e *Event) inside(v value, t *term) (value, error) {
	if t.steps == nil || v.kind == absent {
		return v, nil
	}
	if v.kind == text {
		// The same bytes at each call, so that e.read knows them.
		name := [2]string{t.variable, t.argument}
		if e.bytes == nil {
			e.bytes = map[[2]string][]byte{}
		}
		if e.bytes[name] == nil {
			e.bytes[name] = []byte(v.text)
		}
		v.raw = e.bytes[name]
	}
	return e.within(v.raw, t)
}

// within is what a term's steps lead to in a document.
func (e *Event) within(document []byte, t *term) (value, error) {
	raw, _, err := e.walk(document, t.steps)
	if err != nil || raw == nil || string(raw) == "null" || string(raw) == `""` {
		return value{}, err
	}
	return value{kind: inJSON, raw: raw}, nil
}

// walk goes some steps into a document, and counts those that it went. It returns nil where nothing
// is there.
func (e *Event) walk(raw []byte, steps []step) ([]byte, int, error) {
	for i := range steps {
		var next []byte
		var err error
		switch strictjson.First(raw) {
		case '{':
			next, err = e.member(raw, steps[i].name)
		case '[':
			next, err = e.element(raw, steps[i])
		default:
			if i == 0 && !json.Valid(raw) {
				err = invalid.New(invalid.Malformed, "", "cannot be found: the event is not JSON")
			}
		}
		if err != nil || next == nil {
			return nil, i, err
		}
		raw = next
	}
	return raw, len(steps), nil
}

// Object is the error of a document that is no JSON object. What it reads is read no more.
func (e *Event) Object() error {
	_, err := e.members(e.Document)
	return err
}

func (e *Event) members(raw []byte) ([]strictjson.Member, error) {
	if len(raw) > 0 {
		if found := e.seen(raw); found != nil {
			return found.members, nil
		}
	}
	members, err := strictjson.Members(raw)
	if err == nil {
		e.read = append(e.read, read{at: &raw[0], members: members})
	}
	return members, err
}

func (e *Event) member(raw []byte, name string) ([]byte, error) {
	members, err := e.members(raw)
	switch {
	case err != nil:
		return nil, broken(err)
	case name == "":
		return nil, nil
	}
	return strictjson.Get(members, name), nil
}

// element is an element of a list, of which no more is read than up to that.
func (e *Event) element(raw []byte, s step) ([]byte, error) {
	if s.name != "" {
		return nil, nil
	}
	found := e.seen(raw)
	if found == nil || s.index >= len(found.elements) && !found.all {
		elements, err := strictjson.FirstElements(raw, s.index+1)
		if err != nil {
			return nil, broken(err)
		}
		if found == nil {
			e.read = append(e.read, read{at: &raw[0]})
			found = &e.read[len(e.read)-1]
		}
		found.elements, found.all = elements, len(elements) <= s.index
	}
	if s.index >= len(found.elements) {
		return nil, nil
	}
	return found.elements[s.index], nil
}

func (e *Event) seen(raw []byte) *read {
	for i := range e.read {
		if e.read[i].at == &raw[0] {
			return &e.read[i]
		}
	}
	return nil
}

func broken(err error) error {
	wrong := invalid.Named("", err)
	wrong.Problem = "cannot be found: the event " + wrong.Problem
	return wrong
}

// missing is the error of a path of which no alternative is present: it says what stands there
// instead.
func (p path) missing(e *Event) error {
	whys := make([]string, len(p))
	for i := range p {
		whys[i] = e.why(&p[i])
	}
	return fail(invalid.Missing, "", "is missing at %s: %s", p, strings.Join(whys, "; "))
}

func (e *Event) why(t *term) string {
	if holds, _ := e.holds(t.when); !holds {
		if v, _ := e.find(&t.when.of); v.kind != absent {
			return t.when.of.String() + " is " + v.described()
		}
		t = &t.when.of
	}
	document, of := e.Document, ""
	switch t.variable {
	case "":
	case header:
		return "the request has no header " + t.argument
	case whole:
		document, of = e.top().Document, "@"+whole
	default:
		of = (&term{variable: t.variable, argument: t.argument}).String()
		v, _ := e.find(&term{variable: t.variable, argument: t.argument})
		if v.kind == absent {
			return "there is no " + of
		}
		if document = v.raw; v.kind == text {
			document = []byte(v.text)
		}
	}
	reached, n, _ := e.walk(document, t.steps)
	if n == len(t.steps) {
		return t.String() + " is " + strictjson.Shown(reached)
	}
	reached, _, _ = e.walk(document, t.steps[:n])
	where := of + stepsString(t.steps[:n], of != "")
	switch c := strictjson.First(reached); {
	case c == '{' && t.steps[n].name != "", c == '[' && t.steps[n].name == "":
		return "the event has no " + of + stepsString(t.steps[:n+1], of != "")
	case where == "":
		return "the event is " + strictjson.Shown(reached)
	}
	return where + " is " + strictjson.Shown(reached)
}

func (v value) described() string {
	switch v.kind {
	case inJSON:
		return strictjson.Shown(v.raw)
	case binary:
		return fmt.Sprintf("%d bytes", len(v.raw))
	}
	return strconv.Quote(strictjson.Shortened(v.text))
}

// wrong is the error of a value, with its place, and what stands there.
func (v value) wrong(err error) error {
	wrong := invalid.Named("", err)
	wrong.Problem += fmt.Sprintf(" (%s is %s)", v.at, v.described())
	return wrong
}

// name is a value that names something: a text, or an integer, which names a repository or an
// account as well. once refuses a header that stands twice: API Gateway joins them by commas.
func (v value) name(once bool) (string, error) {
	switch v.kind {
	case inJSON:
		if c := strictjson.First(v.raw); c == '"' {
			name, err := strictjson.Text(v.raw)
			if err != nil {
				return "", v.wrong(err)
			}
			return name, nil
		}
		digits := bytes.TrimPrefix(v.raw, []byte("-"))
		if len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0 {
			return string(v.raw), nil
		}
		return "", v.wrong(invalid.New(invalid.Malformed, "", "must be a string or an integer"))
	case binary:
		if !utf8.Valid(v.raw) || len(v.raw) == 0 {
			return "", v.wrong(invalid.New(invalid.Malformed, "",
				"must be text of UTF-8, which is not empty"))
		}
		return string(v.raw), nil
	}
	if once && v.at.variable == header && strings.Contains(v.text, ",") {
		return "", v.wrong(invalid.New(invalid.Malformed, "",
			"must stand once in the header, without a comma"))
	}
	return v.text, nil
}

func (v value) seq() (int64, error) {
	digits := v.text
	if v.kind == inJSON || v.kind == binary {
		digits = string(v.raw)
	}
	if v.kind == inJSON && strictjson.First(v.raw) == '"' {
		var err error
		if digits, err = strictjson.Text(v.raw); err != nil {
			return 0, v.wrong(err)
		}
	}
	seq, err := cursor.ParseSeq(digits)
	if err != nil {
		return 0, v.wrong(err)
	}
	return seq, nil
}

// parts are a value as parts of a key: of JSON, a list is several.
func (v value) parts(e *Event) ([]any, error) {
	switch {
	case v.kind == inJSON:
		parts, err := sortkey.KeyParts(v.raw)
		if err != nil {
			return nil, v.wrong(err)
		}
		return parts, nil
	case v.kind == number:
		return []any{json.Number(v.text)}, nil
	case v.at.variable == received:
		return []any{sortkey.Received(e.Received)}, nil
	}
	name, err := v.name(true)
	return []any{name}, err
}

// What a body is that is not JSON.
const plainText, anyBytes = "text/plain; charset=utf-8", "application/octet-stream"

// body is a value as a body, with its content type: empty for JSON.
func (v value) body() (body []byte, contentType string) {
	if v.kind == inJSON {
		return v.raw, ""
	}
	if body = v.raw; v.kind != binary {
		body = []byte(v.text)
	}
	switch {
	case utf8.Valid(body) && json.Valid(body):
		return body, ""
	case utf8.Valid(body):
		return body, plainText
	}
	return body, anyBytes
}
