package mapping

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Split is the events that an event is, by each: 1 to [MaxEach]; itself without.
func (m *Mapping) Split(e *Event) ([]*Event, error) {
	if m.each == nil {
		return []*Event{e}, nil
	}
	document := e.Document
	if m.each.variable != "" {
		v, err := e.find(&term{variable: m.each.variable, argument: m.each.argument})
		if err != nil {
			return nil, invalid.Named("each", err)
		}
		if document = v.raw; v.kind == text {
			document = []byte(v.text)
		}
	}
	elements, err := e.elements(nil, document, m.each.steps, "")
	if err == nil && len(elements) == 0 {
		err = fail(invalid.OutOfRange, "",
			"is an empty list at %s: it must have 1 to %d elements", m.each, MaxEach)
	}
	if err != nil {
		return nil, invalid.Named("each", err)
	}
	events := make([]*Event, len(elements))
	for i, element := range elements {
		events[i] = &Event{Document: element, Headers: e.Headers, Received: e.Received, Fields: e.Fields,
			whole: e, place: i}
	}
	return events, nil
}

// elements adds those to which steps lead; behind is what led there.
func (e *Event) elements(all []json.RawMessage, raw []byte, steps []step,
	behind string) ([]json.RawMessage, error) {
	if len(steps) == 0 {
		return append(all, raw), nil
	}
	n := slices.IndexFunc(steps, func(s step) bool { return s.all })
	there, _, err := e.walk(raw, steps[:n])
	if err != nil {
		return nil, err
	}
	where := behind + stepsString(steps[:n], behind != "")
	if strictjson.First(there) != '[' {
		if there == nil {
			return nil, fail(invalid.Missing, "", "is missing: the event has no %s", where)
		}
		return nil, fail(invalid.Malformed, "",
			"must be a list at %s: it is %s", strings.TrimSpace(where+"[]"), strictjson.Shown(there))
	}
	list, err := strictjson.Elements(there, MaxEach-len(all))
	if err != nil {
		return nil, err
	}
	for _, element := range list {
		if all, err = e.elements(all, element, steps[n+1:], where+"[]"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Message is the message of an event. Without a path to it, its body is the event's document, whose
// content type the caller knows.
func (m *Mapping) Message(e *Event) (cursor.Message, error) {
	msg := cursor.Message{Seq: cursor.NoSeq, KeyType: m.KeyType, Body: e.Document, Kind: m.Kind,
		First: m.First}
	var err error
	if msg.Queue, err = m.queueOf(e); err != nil {
		return msg, invalid.Named("queue", err)
	}
	if m.id != nil {
		if msg.ID, err = m.id.joined(e); err == nil && msg.ID == "" {
			err = m.id.missing(e)
		}
		if err != nil {
			return msg, invalid.Named("id", err)
		}
	}
	if m.seq != nil {
		v, err := m.seq.needed(e)
		if err == nil {
			msg.Seq, err = v.seq()
		}
		if err != nil {
			return msg, invalid.Named("seq", err)
		}
	}
	if m.key != nil {
		if err := m.setKey(&msg, e); err != nil {
			return msg, invalid.Named("key", err)
		}
	}
	if m.prev != nil {
		if msg.Prev, err = m.prev.joined(e); err != nil { // the first has none before it
			return msg, invalid.Named("prev", err)
		}
	}
	if m.body != nil {
		v, err := m.body.needed(e)
		if err != nil {
			return msg, invalid.Named("body", err)
		}
		msg.Body, msg.ContentType = v.body()
	}
	for _, a := range m.attributes {
		var value string
		v, err := a.path.find(e)
		switch {
		case err == nil && v.kind == absent:
			continue
		case err == nil:
			value, err = v.name(false)
		}
		if err != nil {
			return msg, invalid.Named("attributes."+a.name, err)
		}
		set(&msg, a.name, value)
	}
	return msg, nil
}

func set(m *cursor.Message, name, value string) {
	if m.Attributes == nil {
		m.Attributes = map[string]string{}
	}
	m.Attributes[name] = value
}

func (m *Mapping) queueOf(e *Event) (string, error) {
	if m.Fixed != "" {
		return m.Fixed, nil
	}
	v, err := m.queue.needed(e)
	if err != nil {
		return "", err
	}
	name, err := v.name(true)
	if err == nil && m.source != "" && m.Prefix == "" && strings.HasPrefix(name, "@") {
		err = v.wrong(invalid.New(invalid.Misplaced, "",
			"begins with '@', as the queues of tenants do: a source without a prefix may name "+
				"none"))
	}
	return m.Prefix + name, err
}

// setKey sets the key: one path may find all its parts.
func (m *Mapping) setKey(msg *cursor.Message, e *Event) error {
	msg.KeyParts = make([]any, 0, len(m.key))
	for i, p := range m.key {
		v, err := p.needed(e)
		if err != nil {
			return err
		}
		parts, err := v.parts(e)
		if err == nil && len(m.key) > 1 && len(parts) != 1 {
			err = v.wrong(invalid.New(invalid.Malformed, "", "must be a string or a number"))
		}
		if err != nil {
			wrong := invalid.Named("", err)
			if len(m.key) > 1 {
				wrong.Problem = fmt.Sprintf("part %d of %d %s", i+1, len(m.key), wrong.Problem)
			}
			return wrong
		}
		if v.at.variable == received {
			set(msg, ReceivedAttribute, "key")
		}
		msg.KeyParts = append(msg.KeyParts, parts...)
	}
	return nil
}

func (p path) needed(e *Event) (value, error) {
	v, err := p.find(e)
	if err == nil && v.kind == absent {
		err = p.missing(e)
	}
	return v, err
}

// joined are the names at the paths as one: a single one as it is, several with a slash between,
// which is escaped in them. It is empty where one is absent.
func (l list) joined(e *Event) (string, error) {
	var joined strings.Builder
	for i, p := range l {
		v, err := p.find(e)
		if err != nil || v.kind == absent {
			return "", err
		}
		name, err := v.name(true)
		switch {
		case err != nil || len(l) == 1:
			return name, err
		case i > 0:
			joined.WriteByte('/')
		}
		joined.WriteString(escapePart.Replace(name))
	}
	return joined.String(), nil
}

var escapePart = strings.NewReplacer("%", "%25", "/", "%2F")

// missing is the error of the first path at which nothing is.
func (l list) missing(e *Event) error {
	for _, p := range l {
		if v, err := p.find(e); err == nil && v.kind == absent {
			return p.missing(e)
		}
	}
	return nil
}
