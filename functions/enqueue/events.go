package main

import (
	"encoding/json"
	"errors"
	"maps"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// mapping is how the events of this put become messages, nil where its messages are documents of
// ours; the events; and the key of the whole request. In HTTP, parameters of the query come before
// the stack's mapping. A direct invoke's document is an event under the stack's, or it has a
// mapping itself, beside "event".
func (c *call) mapping() (m *mapping.Mapping, event json.RawMessage, key string, err error) {
	var given mapping.Texts
	event, key = c.Body, c.IdempotencyKey
	switch {
	case c.isEvent():
		return c.events, event, key, nil
	case c.Direct:
		given, event, key, err = c.directTexts()
	case len(c.Query) > 0:
		err = c.Parameters(&given)
	}
	switch {
	case err != nil:
	case !given.None():
		m, err = given.Parse(mapping.Kind{Request: !c.Direct, Known: key != ""})
	case !c.Direct:
		m = c.events
	}
	return m, event, key, err
}

// directTexts reads {"queue": PATH, …, "idempotencyKey", "event"}: an event with a mapping, of
// which queue is one member and not the only one; anything else is no such document.
func (c *call) directTexts() (given mapping.Texts, event json.RawMessage, key string, err error) {
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return mapping.Texts{}, c.Body, "", nil
	}
	event, texts := strictjson.Take(members, "event")
	if event == nil || len(texts) < 2 {
		return mapping.Texts{}, c.Body, "", nil
	}
	if key, texts, err = directKey(texts); err != nil {
		return mapping.Texts{}, nil, "", err
	}
	err = strictjson.DecodeMembers(texts, &given)
	if wrong := (*invalid.Error)(nil); errors.As(err, &wrong) && wrong.Code == invalid.Unknown {
		return mapping.Texts{}, c.Body, "", nil
	}
	return given, event, key, err
}

// events adds a message of each raw event to a put: of one object, or of each element of an array.
// The event, byte for byte, is the body. With each, all is one event.
func (c *call) addEvents(put *intake.Put, m *mapping.Mapping, raw json.RawMessage,
	key string) error {
	put.Events = true
	if m.Splits() {
		list, err := m.Split(c.eventOf(raw))
		if err != nil {
			return err
		}
		for i, e := range list {
			if err := addEvent(put, m, e, key); err != nil {
				return invalid.Within("messages", i, err)
			}
		}
		return nil
	}
	if !strictjson.IsArray(raw) {
		put.Single = true
		e := c.eventOf(raw)
		if err := e.Object(); err != nil {
			return invalid.Named("body", err)
		}
		return addEvent(put, m, e, key)
	}
	list, err := elements(httpapi.RequestBody, raw)
	if err != nil {
		return err
	}
	for i, event := range list {
		e := c.eventOf(event)
		if err := e.Object(); err != nil {
			return invalid.Within("body", i, err)
		}
		if err := addEvent(put, m, e, key); err != nil {
			return invalid.Within("messages", i, err)
		}
	}
	return nil
}

func addEvent(put *intake.Put, m *mapping.Mapping, e *mapping.Event, key string) error {
	message, err := m.Message(e)
	if err != nil {
		return err
	}
	return add(put, message, key)
}

func (c *call) eventOf(raw json.RawMessage) *mapping.Event {
	return &mapping.Event{Document: raw, Headers: c.Headers, Received: c.now()}
}

// place finds the message's queue, and what else there are paths for, in an event.
func (c *call) place(m *mapping.Mapping, to *cursor.Message, event json.RawMessage) error {
	found, err := m.Message(c.eventOf(event))
	if err != nil {
		return err
	}
	to.Queue, to.ID, to.Seq, to.First, to.KeyParts, to.KeyType, to.Prev = found.Queue, found.ID,
		found.Seq, found.First, found.KeyParts, found.KeyType, found.Prev
	if to.Attributes == nil {
		to.Attributes = found.Attributes
	}
	maps.Copy(to.Attributes, found.Attributes)
	return nil
}
