package cloudevents

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// SpecVersion is the one that is read and written.
const SpecVersion = "1.0"

const (
	MediaType      = "application/cloudevents+json"
	BatchMediaType = "application/cloudevents-batch+json"
)

// Kind is the type of an attribute which is no text in JSON.
type Kind string

const (
	Integer Kind = "integer"
	Boolean Kind = "boolean"
)

// Event is an event.
type Event struct {
	// Attributes are all context attributes by their names, in their canonical text form.
	Attributes map[string]string
	// Kinds are those of the attributes that are no texts.
	Kinds map[string]Kind
	// Data is the event's data as its datacontenttype has it; nil if absent.
	Data []byte
}

// ReadJSON reads an event in the JSON format. The error is an [invalid.Error] that names the
// attribute.
func ReadJSON(raw json.RawMessage) (Event, error) {
	members, err := strictjson.Members(raw)
	if err != nil {
		return Event{}, invalid.Named("event", err)
	}
	e := Event{Attributes: map[string]string{}, Kinds: map[string]Kind{}}
	var data, encoded json.RawMessage
	for _, m := range members {
		switch {
		case m.Name == "data":
			data = m.Value
		case m.Name == "data_base64":
			encoded = m.Value
		case string(m.Value) == "null": // as if it were not there
			err = checkName(m.Name)
		default:
			err = e.readMember(m)
		}
		if err != nil {
			return Event{}, invalid.Named(cmp.Or(m.Name, "event"), err)
		}
	}
	if err := e.check(); err != nil {
		return Event{}, err
	}
	return e, e.readData(data, encoded)
}

func (e *Event) readMember(m strictjson.Member) error {
	if err := checkName(m.Name); err != nil {
		return err
	}
	switch c := m.Value[0]; {
	case c == '"':
		text, err := strictjson.Text(m.Value)
		e.Attributes[m.Name] = text
		return err
	case c == 't' || c == 'f':
		e.Kinds[m.Name] = Boolean
	case c == '-' || c >= '0' && c <= '9':
		n, err := strconv.ParseInt(string(m.Value), 10, 32)
		if err != nil {
			return invalid.New(invalid.OutOfRange, "",
				"must be an integer from -2147483648 to 2147483647, or a string")
		}
		e.Kinds[m.Name] = Integer
		e.Attributes[m.Name] = strconv.FormatInt(n, 10) // JSON has -0 as well
		return nil
	default:
		return invalid.New(invalid.Malformed, "", "must be a string, an integer or a boolean")
	}
	e.Attributes[m.Name] = string(m.Value)
	return nil
}

func (e *Event) readData(data, encoded json.RawMessage) (err error) {
	switch {
	case data != nil && encoded != nil:
		return invalid.New(invalid.Clash, "data", "must not be given beside data_base64")
	case encoded != nil:
		text, err := strictjson.Text(encoded)
		if err == nil {
			e.Data, err = base64.StdEncoding.DecodeString(text)
		}
		if err != nil {
			return invalid.New(invalid.Malformed, "data_base64", "must be a string in base64")
		}
		if e.Data == nil {
			e.Data = []byte{}
		}
	case data == nil:
	case e.carriesJSON():
		e.Data = data
	default:
		text, err := strictjson.Text(data)
		if err != nil {
			return invalid.Named("data",
				invalid.New(invalid.Malformed, "", "must be a string: datacontenttype is no type of JSON"))
		}
		e.Data = []byte(text)
	}
	return nil
}

func (e *Event) carriesJSON() bool {
	media, given := e.Attributes["datacontenttype"]
	return !given || isJSON(media)
}

func isJSON(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
}

// Mode is how a request brings events.
type Mode int

const (
	// None: it brings no event, or in a format that is not read here.
	None Mode = iota
	Structured
	Batched
	Binary
)

// ModeOf is the mode of a request with these headers, by their names in small letters.
func ModeOf(headers map[string]string) Mode {
	media, _, _ := strings.Cut(strings.ToLower(headers["content-type"]), ";")
	_, versioned := headers["ce-specversion"]
	switch media = strings.TrimSpace(media); {
	case media == MediaType:
		return Structured
	case media == BatchMediaType:
		return Batched
	case versioned && !strings.HasPrefix(media, "application/cloudevents"):
		return Binary
	}
	return None
}

// ReadBinary reads an event in HTTP's binary mode: of headers by their names in small letters, and
// the body, which is the data. The error is as ReadJSON's.
func ReadBinary(headers map[string]string, body []byte) (Event, error) {
	e := Event{Attributes: map[string]string{}, Data: body}
	for header, value := range headers {
		name, is := strings.CutPrefix(header, "ce-")
		if !is {
			continue
		}
		err := checkName(name)
		if err == nil && name == "datacontenttype" {
			err = invalid.New(invalid.Misplaced, "",
				"must not be given as ce-datacontenttype: it is the header Content-Type")
		}
		if err == nil {
			e.Attributes[name], err = decodeHeader(value)
		}
		if err != nil {
			return Event{}, invalid.Named(cmp.Or(name, header), err)
		}
	}
	if media := headers["content-type"]; media != "" {
		e.Attributes["datacontenttype"] = media
	}
	if len(body) == 0 {
		e.Data = nil
	}
	return e, e.check()
}

// decodeHeader is the text of a header's value: without the quotes that older senders put around
// it, and with one round of percent-decoding.
func decodeHeader(value string) (string, error) {
	value = strings.Trim(value, " \t")
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		var plain strings.Builder
		for quoted := value[1 : len(value)-1]; quoted != ""; quoted = quoted[1:] {
			if quoted[0] == '\\' && len(quoted) > 1 {
				quoted = quoted[1:]
			}
			plain.WriteByte(quoted[0])
		}
		value = plain.String()
	}
	decoded, err := url.PathUnescape(value)
	if err != nil {
		return "", invalid.New(invalid.Malformed, "", "has a percent sign without two hex digits")
	}
	if !utf8.ValidString(decoded) {
		return "", invalid.New(invalid.Malformed, "", "is not valid UTF-8")
	}
	return decoded, nil
}

// checkName: small letters and digits.
func checkName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	switch {
	case name == "" || strings.Trim(name, letters) != "":
		return invalid.New(invalid.Malformed, "",
			"is no name of an attribute: those have small letters and digits")
	case name == "data":
		return invalid.New(invalid.Misplaced, "", "must not be an attribute")
	}
	return nil
}

// check reports the first attribute that is not as the spec says.
func (e *Event) check() error {
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if _, given := e.Attributes[name]; !given {
			return invalid.New(invalid.Missing, name, "is missing: each CloudEvent has one")
		}
	}
	for _, rule := range []struct {
		name string
		why  func(string) string
	}{
		{"specversion", badVersion},
		{"id", notEmpty},
		{"source", badReference},
		{"type", notEmpty},
		{"subject", notEmpty},
		{"sequence", notEmpty},
		{"time", badTime},
		{"datacontenttype", badMediaType},
		{"dataschema", badURI},
	} {
		value, given := e.Attributes[rule.name]
		if !given {
			continue
		}
		if e.Kinds[rule.name] != "" {
			return invalid.New(invalid.Malformed, rule.name, "must be a string")
		}
		if why := rule.why(value); why != "" {
			return invalid.New(invalid.Malformed, rule.name, why)
		}
	}
	for name, value := range e.Attributes {
		if strings.ContainsFunc(value, isForbidden) {
			return invalid.New(invalid.Malformed, name,
				"has a control character, or one that is not of Unicode")
		}
	}
	return nil
}

// isForbidden: control characters, and what Unicode calls noncharacters.
func isForbidden(r rune) bool {
	return r < ' ' || r >= 0x7F && r <= 0x9F || r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF
}

func badVersion(text string) string {
	if text != SpecVersion {
		return fmt.Sprintf("is %.20q: %s is taken", text, SpecVersion)
	}
	return ""
}

func notEmpty(text string) string {
	if text == "" {
		return "is empty"
	}
	return ""
}

func badReference(text string) string {
	if text == "" {
		return "is empty"
	}
	notOfURIs := func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r)
	}
	if _, err := url.Parse(text); err != nil || strings.ContainsFunc(text, notOfURIs) {
		return "is no URI-reference"
	}
	return ""
}

func badURI(text string) string {
	if why := badReference(text); why != "" {
		return why
	}
	if u, err := url.Parse(text); err != nil || u.Scheme == "" {
		return "is no absolute URI"
	}
	return ""
}

func badTime(text string) string {
	// Package time has no leap seconds.
	second := strings.Replace(strings.ToUpper(text), ":60", ":59", 1)
	_, err := sortkey.KeyType("time").Key(text)
	if leap := strings.Contains(text, ":60"); leap && err != nil {
		return "is no time: " + err.Error()
	}
	if _, err := time.Parse(time.RFC3339, second); err != nil {
		return "is no time as RFC 3339 has it, such as 2018-04-05T17:31:00Z"
	}
	return ""
}

func badMediaType(text string) string {
	if media, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(media, "/") {
		return "is no media type"
	}
	return ""
}
