package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Message is the message that a record makes. The error is an [invalid.Error] that names the
// field; it stays the same however often the record comes.
func (s *Source) Message(r *Record) (m cursor.Keyed, err error) {
	m.KeyType, m.Trace = s.KeyType, traceOf(r.Raw)
	if m.Queue, err = s.queue(r); err != nil {
		return m, invalid.Named("queue", err)
	}
	if !s.ID.none() {
		if m.ID, err = s.text(r, s.ID); err != nil {
			return m, invalid.Named("id", err)
		}
	}
	if s.Numbered() {
		if m.Seq, err = s.seq(r); err != nil {
			return m, invalid.Named("seq", err)
		}
	}
	for _, place := range s.Key {
		part, err := s.keyPart(r, place)
		if err != nil {
			return m, invalid.Named("key", err)
		}
		m.Key = append(m.Key, part)
	}
	if !s.Prev.none() {
		if m.Prev, err = s.text(r, s.Prev); errors.Is(err, strictjson.ErrNoField) {
			m.Prev, err = "", nil // the first has none before it
		}
		if err != nil {
			return m, invalid.Named("prev", err)
		}
	}
	if m.Body, m.ContentType, err = s.body(r); err != nil {
		return m, invalid.Named("body", err)
	}
	for name, place := range s.Attributes {
		value, err := s.text(r, place)
		if errors.Is(err, strictjson.ErrNoField) {
			continue
		}
		if err != nil {
			return m, invalid.Named("attributes", err)
		}
		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}
		m.Attributes[name] = value
	}
	return m, s.check(m)
}

// check is what is wrong with the message by itself.
func (s *Source) check(m cursor.Keyed) error {
	var err error
	switch {
	case s.Numbered():
		err = m.Validate()
	case s.Keyed():
		err = cursor.ValidateKeyed([]cursor.Keyed{m})
	default:
		a := cursor.Arrival{Queue: m.Queue, ID: m.ID}
		m.Queue, m.ID = "", ""
		a.Messages = []cursor.Message{m.Message}
		err = cursor.ValidateArrivals([]cursor.Arrival{a})
	}
	var wrong *invalid.Error
	if errors.As(err, &wrong) {
		alone := *wrong
		alone.At = nil
		return &alone
	}
	return err
}

// missing is the error of a value that is not there.
func missing(what string) error {
	return &invalid.Error{Code: invalid.Missing, Problem: "is missing: the record has no " + what, Err: strictjson.ErrNoField}
}

// find is the value at a place: one of a record's parts, or JSON.
func (s *Source) find(r *Record, p Place) (any, error) {
	switch {
	case p.Fixed != "":
		return p.Fixed, nil
	case p.Field != "":
		value, ok := r.parts[p.Field]
		if !ok {
			return nil, missing(p.Field)
		}
		return value, nil
	case p.Record != nil:
		return p.Record.Find(r.Raw)
	}
	carried, ok := r.parts[s.kind.body].([]byte)
	if !ok {
		return nil, missing(s.kind.body)
	}
	return p.Path.Find(carried)
}

// text is the value at a place as a text that is not empty.
func (s *Source) text(r *Record, p Place) (text string, err error) {
	value, err := s.find(r, p)
	if err != nil {
		return "", err
	}
	switch value := value.(type) {
	case string:
		text = value
	case json.Number:
		text = value.String()
	case []byte:
		if text = string(value); !utf8.Valid(value) {
			return "", invalid.New(invalid.Malformed, "", "is not valid UTF-8")
		}
	case json.RawMessage:
		if string(value) == "null" {
			return "", missing("value there")
		}
		if text, err = message.Name(value); err != nil {
			return "", err
		}
	}
	if text == "" {
		return "", &invalid.Error{Code: invalid.Missing, Problem: "is empty", Err: strictjson.ErrNoField}
	}
	return text, nil
}

// queue is the queue's name.
func (s *Source) queue(r *Record) (string, error) {
	if s.Queue.Fixed != "" {
		return s.Queue.Fixed, nil
	}
	name, err := s.text(r, s.Queue)
	switch {
	case err == nil && s.Prefix == "" && strings.HasPrefix(name, "@"):
		return "", invalid.New(invalid.Misplaced, "", "begins with '@', as the queues of tenants do: a source without a prefix may name none")
	case err == nil:
		return s.Prefix + name, nil
	case s.Default != "" && errors.Is(err, strictjson.ErrNoField):
		return s.Prefix + s.Default, nil
	}
	return "", err
}

// seq is the seq: an integer, or its digits as a text.
func (s *Source) seq(r *Record) (int64, error) {
	value, err := s.find(r, s.Seq)
	if err != nil {
		return 0, err
	}
	switch value := value.(type) {
	case json.RawMessage:
		return jsonseq.Read(value)
	case json.Number:
		return jsonseq.Read(json.RawMessage(value))
	}
	text, err := s.text(r, s.Seq)
	if err != nil {
		return 0, err
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return 0, err
	}
	return jsonseq.Read(quoted)
}

// keyPart is a part of the key.
func (s *Source) keyPart(r *Record, p Place) (any, error) {
	value, err := s.find(r, p)
	if err != nil {
		return nil, err
	}
	raw, isJSON := value.(json.RawMessage)
	if !isJSON {
		if number, is := value.(json.Number); is {
			return number, nil
		}
		return s.text(r, p)
	}
	parts, err := cursor.KeyParts(raw)
	if err != nil {
		return nil, err
	}
	if len(parts) != 1 {
		return nil, invalid.New(invalid.Malformed, "", "must be a string or a number")
	}
	return parts[0], nil
}

// What a body is that is not JSON.
const plainText, anyBytes = "text/plain; charset=utf-8", "application/octet-stream"

// body is the body with its content type: empty for JSON. Where the source says so, a body
// that is base64 in JSON stays that text.
func (s *Source) body(r *Record) (body []byte, contentType string, err error) {
	value, err := s.find(r, s.Body)
	if err != nil {
		return nil, "", err
	}
	switch value := value.(type) {
	case json.RawMessage:
		return value, "", nil
	case []byte:
		body = value
	default:
		text, err := s.text(r, s.Body)
		if err != nil {
			return nil, "", err
		}
		body = []byte(text)
	}
	switch {
	case utf8.Valid(body) && json.Valid(body):
		return body, "", nil
	case utf8.Valid(body):
		return body, plainText, nil
	}
	return body, anyBytes, nil
}

// Name is the record as an answer to AWS names it, for people.
func (r *Record) Name() string {
	switch {
	case r.item.id != "":
		return r.item.id
	case r.item.group != "":
		return fmt.Sprintf("%s@%d", r.item.group, r.item.offset)
	}
	id, _ := r.parts["id"].(string)
	if id == "" {
		id, _ = r.parts["messageId"].(string)
	}
	return id
}
