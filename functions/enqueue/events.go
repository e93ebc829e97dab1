package main

import (
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// props are the ways to the queue, the seq, the id, the key, and the id of the one before, of
// a raw event; all but that to the queue may be empty.
type props struct {
	queue, seq, id, prev strictjson.FieldPath
	key                  message.KeyPaths
	keyType              cursor.KeyType
	// written are they as they were given, for what is said of them.
	written paths
}

// paths are props as they are written.
type paths struct{ queue, seq, id, key, keyType, prev string }

// props are the paths that this put uses, nil where its messages are documents
// of ours; the event; and the key of the whole request. In HTTP, parameters of the
// query come before the stack's paths. A direct invoke's document is an event under
// the stack's, or it names them itself, beside "event".
func (c *call) props() (*props, json.RawMessage, string, error) {
	given, event, key := c.paths, json.RawMessage(c.Body), c.IdempotencyKey
	var err error
	switch {
	case c.isEvent():
	case c.Direct:
		given, event, key, err = c.directProps()
	default:
		given, err = c.queryProps()
	}
	if err != nil {
		return nil, nil, "", err
	}
	if given == (paths{}) {
		return nil, nil, "", nil
	}
	p, err := given.parse(key)
	return p, event, key, err
}

// queryProps are those that the query has, or the stack's.
func (c *call) queryProps() (given paths, err error) {
	if given, err = c.queryPaths(); err == nil && given == (paths{}) {
		return c.paths, nil
	}
	return given, err
}

// queryPaths are those that the query has.
func (c *call) queryPaths() (given paths, err error) {
	if err = c.Only("queueProp", "seqProp", "idProp", "keyProp", "keyType", "prevProp"); err != nil {
		return given, err
	}
	for name, value := range given.byName() {
		if *value, err = c.One(name); err != nil {
			return given, err
		}
	}
	return given, nil
}

// byName are the paths by their names.
func (p *paths) byName() map[string]*string {
	return map[string]*string{"queueProp": &p.queue, "seqProp": &p.seq, "idProp": &p.id, "keyProp": &p.key, "keyType": &p.keyType, "prevProp": &p.prev}
}

// parse reads the paths. Without a seq a message is known by its id, or by the
// key of the whole request.
func (p *paths) parse(key string) (*props, error) {
	switch {
	case p.queue == "":
		return nil, invalid.New(invalid.Missing, "queueProp", "is missing beside seqProp, idProp or keyProp")
	case p.key == "" && p.keyType != "":
		return nil, invalid.New(invalid.Misplaced, "keyType", "must not be given without keyProp")
	case p.key == "" && p.prev != "":
		return nil, invalid.New(invalid.Misplaced, "prevProp", "must not be given without keyProp")
	case p.key != "" && p.seq != "":
		return nil, invalid.New(invalid.Clash, "keyProp", "must not be given beside seqProp: a numbered queue sorts by seqs, a keyed one by keys")
	case p.key != "" && p.id == "":
		return nil, invalid.New(invalid.Missing, "idProp", "is missing beside keyProp: in a keyed queue, a message is known by its key and its id")
	case p.seq == "" && p.id == "" && key == "":
		return nil, invalid.New(invalid.Missing, "seqProp", "is missing beside queueProp, and so is idProp: numbered queues need a seqProp; those in arrival order an idProp, or the header Idempotency-Key; keyed ones a keyProp and an idProp")
	}
	parsed := props{written: *p}
	for _, one := range []struct {
		name, text string
		path       *strictjson.FieldPath
	}{{"queueProp", p.queue, &parsed.queue}, {"seqProp", p.seq, &parsed.seq}, {"idProp", p.id, &parsed.id}, {"prevProp", p.prev, &parsed.prev}} {
		if one.text == "" {
			continue
		}
		var err error
		if *one.path, err = strictjson.ParseFieldPath(one.text); err != nil {
			return nil, invalid.Named(one.name, err)
		}
	}
	return &parsed, parsed.parseKey()
}

// parseKey reads the paths of the key, and its type.
func (p *props) parseKey() (err error) {
	if p.written.key == "" {
		return nil
	}
	if p.key, err = message.ParseKeyPaths(p.written.key); err != nil {
		return invalid.Named("keyProp", err)
	}
	if p.written.keyType != "" {
		p.keyType, err = cursor.ParseKeyType(p.written.keyType)
	}
	return err
}

// directProps reads {"queueProp", "seqProp", "idProp", "keyProp", "keyType", "prevProp",
// "idempotencyKey", "event"} with an event, a queueProp and one at least of the others; anything else is no
// such document.
func (c *call) directProps() (given paths, event json.RawMessage, key string, err error) {
	members, err := strictjson.Members(c.Body)
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
			if key, _, err = directKey([]strictjson.Member{{Name: name, Value: value}}); err != nil {
				return paths{}, nil, "", err
			}
			continue
		}
		if *known[name], err = strictjson.Text(value); err != nil {
			return paths{}, nil, "", invalid.Named(name, err)
		}
	}
	return given, event, key, nil
}

// events adds a message of each raw event to a put: of one object, or of each
// element of an array. The event, byte for byte, is the body.
func (p *props) events(put *intake.Put, raw json.RawMessage, key string) error {
	if !strictjson.IsArray(raw) {
		put.Single = true
		return p.event(put, raw, key)
	}
	list, err := elements(httpapi.RequestBody, raw)
	if err != nil {
		return err
	}
	for i, event := range list {
		if err := p.event(put, event, key); err != nil {
			return invalid.Within("messages", i, err)
		}
	}
	return nil
}

// event adds the message of a raw event.
func (p *props) event(put *intake.Put, event json.RawMessage, key string) error {
	m := cursor.Keyed{Message: cursor.Message{Body: event}}
	if err := p.place(&m, event); err != nil {
		return err
	}
	return add(put, m, p.seq != nil, key)
}

// place finds the message's queue, and what else there are paths for, in an event.
func (p *props) place(m *cursor.Keyed, event json.RawMessage) error {
	if _, err := strictjson.Members(event); err != nil {
		return invalid.Named("body", err)
	}
	queue, err := p.queue.Find(event)
	if err == nil {
		m.Queue, err = message.Name(queue)
	}
	if err != nil {
		return invalidProp("queue", p.written.queue, err)
	}
	if p.id != nil {
		id, err := p.id.Find(event)
		if err == nil {
			m.ID, err = message.Name(id)
		}
		if err != nil {
			return invalidProp("id", p.written.id, err)
		}
	}
	if p.seq != nil {
		seq, err := p.seq.Find(event)
		if err == nil {
			m.Seq, err = jsonseq.Read(seq)
		}
		if err != nil {
			return invalidProp("seq", p.written.seq, err)
		}
	}
	if p.key != nil {
		m.KeyType = p.keyType
		if m.Key, err = p.key.Find(event); err != nil {
			return invalidProp("key", p.written.key, err)
		}
	}
	if m.Prev, err = message.Prev(p.prev, event); err != nil {
		return invalidProp("prev", p.written.prev, err)
	}
	return nil
}

// invalidProp is the problem of a field that is taken from an event, with the path
// that led to it.
func invalidProp(field, path string, err error) error {
	wrong := invalid.Named(field, err)
	wrong.Problem += fmt.Sprintf(" (%sProp=%s)", field, path)
	return wrong
}
