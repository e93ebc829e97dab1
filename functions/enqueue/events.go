package main

import (
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// props are the ways to the queue, the seq and the id of a raw event; seq or id
// may be empty.
type props struct {
	queue, seq, id edge.FieldPath
	// written are they as they were given, for what is said of them.
	written paths
}

// paths are props as they are written.
type paths struct{ queue, seq, id string }

// props are the paths that this put uses, nil where its messages are documents
// of ours; the event; and the key of the whole request. The caller's come first
// (parameters of the query, or members of a direct invoke's document beside
// "event"), then the stack's.
func (c *call) props() (*props, json.RawMessage, string, *edge.Problem) {
	given, event, key := paths{}, json.RawMessage(c.Body), c.IdempotencyKey
	var problem *edge.Problem
	if c.Direct {
		given, event, key, problem = c.directProps()
	} else {
		given, problem = c.queryProps()
	}
	if problem != nil {
		return nil, nil, "", problem
	}
	if given == (paths{}) {
		given = c.paths
	}
	if given == (paths{}) {
		return nil, nil, "", nil
	}
	p, problem := given.parse(key)
	return p, event, key, problem
}

// queryProps are those that the query has.
func (c *call) queryProps() (given paths, problem *edge.Problem) {
	if problem = c.Only("queueProp", "seqProp", "idProp"); problem != nil {
		return given, problem
	}
	for name, value := range given.byName() {
		if *value, problem = c.One(name); problem != nil {
			return given, problem
		}
	}
	return given, nil
}

// byName are the paths by their names.
func (p *paths) byName() map[string]*string {
	return map[string]*string{"queueProp": &p.queue, "seqProp": &p.seq, "idProp": &p.id}
}

// parse reads the paths. Without a seq a message is known by its id, or by the
// key of the whole request.
func (p *paths) parse(key string) (*props, *edge.Problem) {
	switch {
	case p.queue == "":
		return nil, edge.Invalid("queueProp", "is missing beside seqProp or idProp")
	case p.seq == "" && p.id == "" && key == "":
		return nil, edge.Invalid("seqProp", "is missing beside queueProp, and so is idProp: numbered queues need a seqProp; those in arrival order an idProp, or the header Idempotency-Key")
	}
	parsed := props{written: *p}
	for _, one := range []struct {
		name, text string
		path       *edge.FieldPath
	}{{"queueProp", p.queue, &parsed.queue}, {"seqProp", p.seq, &parsed.seq}, {"idProp", p.id, &parsed.id}} {
		if one.text == "" {
			continue
		}
		var err error
		if *one.path, err = edge.ParseFieldPath(one.text); err != nil {
			return nil, edge.Invalid(one.name, err.Error())
		}
	}
	return &parsed, nil
}

// directProps reads {"queueProp", "seqProp", "idProp", "idempotencyKey", "event"}
// with an event, a queueProp and one at least of the others; anything else is no
// such document.
func (c *call) directProps() (given paths, event json.RawMessage, key string, problem *edge.Problem) {
	members, err := edge.Members(c.Body)
	if err != nil {
		return paths{}, c.Body, "", nil
	}
	known := given.byName()
	known["idempotencyKey"] = &key
	texts := map[string]json.RawMessage{}
	for _, m := range members {
		switch {
		case m.Name == "event":
			event = m.Value
		case known[m.Name] == nil:
			return paths{}, c.Body, "", nil
		default:
			texts[m.Name] = m.Value
		}
	}
	if event == nil || texts["queueProp"] == nil || len(texts) < 2 {
		return paths{}, c.Body, "", nil
	}
	for name, value := range texts {
		if name == "idempotencyKey" {
			if key, _, problem = directKey([]edge.Member{{Name: name, Value: value}}); problem != nil {
				return paths{}, nil, "", problem
			}
			continue
		}
		if *known[name], err = edge.Text(value); err != nil {
			return paths{}, nil, "", edge.Invalid(name, err.Error())
		}
	}
	return given, event, key, nil
}

// events adds a message of each raw event to a put: of one object, or of each
// element of an array. The event, byte for byte, is the body.
func (p *props) events(put *intake.Put, raw json.RawMessage, key string) *edge.Problem {
	if !edge.IsArray(raw) {
		put.Single = true
		return p.event(put, "", raw, key)
	}
	list, problem := elements("body", raw)
	if problem != nil {
		return problem
	}
	for i, event := range list {
		if problem := p.event(put, fmt.Sprintf("messages[%d].", i), event, key); problem != nil {
			return problem
		}
	}
	return nil
}

// event adds the message of a raw event.
func (p *props) event(put *intake.Put, prefix string, event json.RawMessage, key string) *edge.Problem {
	m := cursor.Message{Body: event}
	if _, err := edge.Members(event); err != nil {
		return edge.Invalid(prefix+"body", err.Error())
	}
	queue, err := p.queue.Find(event)
	if err == nil {
		m.Queue, err = edge.Name(queue)
	}
	if err != nil {
		return invalidProp(prefix, "queue", p.written.queue, err)
	}
	if p.id != nil {
		id, err := p.id.Find(event)
		if err == nil {
			m.ID, err = edge.Name(id)
		}
		if err != nil {
			return invalidProp(prefix, "id", p.written.id, err)
		}
	}
	if p.seq != nil {
		seq, err := p.seq.Find(event)
		if err == nil {
			m.Seq, err = edge.Seq(seq)
		}
		if err != nil {
			return invalidProp(prefix, "seq", p.written.seq, err)
		}
	}
	return add(put, prefix, m, p.seq != nil, key)
}

// invalidProp is the problem of a field that is taken from an event, with the path
// that led to it.
func invalidProp(prefix, field, path string, err error) *edge.Problem {
	return edge.Invalid(prefix+field, fmt.Sprintf("%v (%sProp=%s)", err, field, path))
}
