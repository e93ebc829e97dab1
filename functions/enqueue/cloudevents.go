package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// eventPaths are the ways by which a query places CloudEvents otherwise: into the event in JSON, in
// whatever mode it came.
type eventPaths struct {
	*call
	given  mapping.Texts
	parsed *mapping.Mapping
	// settings are those of the queues that the call's events are for: a new one is as the first of
	// them makes it.
	settings map[string]cursor.Settings
	look     func(queue string) (cursor.Settings, error)
}

func (c *call) cloudEvents(ctx context.Context, mode cloudevents.Mode) (*intake.Put, error) {
	to, err := c.eventPaths()
	if err != nil {
		return nil, err
	}
	to.settings = map[string]cursor.Settings{}
	to.look = func(queue string) (cursor.Settings, error) {
		full, err := c.Full("queue", queue)
		if err != nil {
			return cursor.Settings{}, err
		}
		return c.sorter.Settings(ctx, full)
	}
	p := c.newPut()
	p.Single = true
	switch mode {
	case cloudevents.Binary:
		e, err := cloudevents.ReadBinary(c.Headers, c.Body)
		if err == nil {
			err = to.add(p, e, c.IdempotencyKey)
		}
		return p, err
	case cloudevents.Batched:
		p.Single = false
		list, err := strictjson.Elements(c.Body, intake.MaxMessages)
		if err != nil {
			return nil, invalid.Named(httpapi.RequestBody, err)
		}
		for i, raw := range list {
			if err := to.read(p, raw, c.IdempotencyKey); err != nil {
				return nil, invalid.Within("messages", i, err)
			}
		}
		return p, nil
	}
	return p, to.read(p, c.Body, c.IdempotencyKey)
}

// eventPaths reads those of the query. The stack's are for raw events alone.
func (c *call) eventPaths() (*eventPaths, error) {
	to := &eventPaths{call: c}
	err := c.Parameters(&to.given)
	if err != nil || to.given.None() {
		return to, err
	}
	if to.given.Each+to.given.Body != "" {
		return nil, invalid.New(invalid.Misplaced, "each", "and body must not be given beside a CloudEvent, which is one message, with its data as the body")
	}
	// What is not given is found by the event's own attributes; the paths to them stand for it
	// here.
	all := to.given
	all.Queue, all.ID = cmp.Or(all.Queue, "source"), cmp.Or(all.ID, "id")
	to.parsed, err = all.Parse(mapping.Kind{Request: true})
	return to, err
}

func (to *eventPaths) read(p *intake.Put, raw json.RawMessage, key string) error {
	e, err := cloudevents.ReadJSON(raw)
	if err != nil {
		return err
	}
	return to.add(p, e, key)
}

// add adds the message of an event: to the queue of its source and subject, under its id. In a
// queue that the query names, where events of several sources may be, the id has the source in
// front.
func (to *eventPaths) add(p *intake.Put, e cloudevents.Event, key string) error {
	m, err := e.Message()
	if err != nil {
		return err
	}
	m.Seq = cursor.NoSeq
	if to.parsed != nil {
		event, err := e.JSON(nil)
		if err == nil {
			err = to.place(to.parsed, &m, event)
		}
		if err != nil {
			return err
		}
	}
	if to.given.Queue == "" {
		m.Queue = e.Queue()
		if len(m.Queue) > cursor.MaxQueueName {
			return invalid.New(invalid.TooLarge, "source",
				fmt.Sprintf("and subject have %d bytes together: at most %d are taken as a queue's name",
					len(m.Queue), cursor.MaxQueueName))
		}
	}
	if to.given.ID == "" {
		m.ID = e.Attributes["id"]
		if to.given.Queue != "" {
			m.ID = e.Identity()
		}
	}
	if to.given.Seq+to.given.Key == "" {
		of, err := to.settingsOf(m.Queue, e)
		if err != nil {
			return err
		}
		if err := e.Place(&m, of); err != nil {
			return err
		}
	}
	return add(p, m, key)
}

func (to *eventPaths) settingsOf(queue string, e cloudevents.Event) (cursor.Settings, error) {
	if of, known := to.settings[queue]; known {
		return of, nil
	}
	of, err := to.look(queue)
	if errors.Is(err, cursor.ErrNoQueue) {
		of, err = e.Settings(), nil
	}
	if err == nil {
		to.settings[queue] = of
	}
	return of, err
}
