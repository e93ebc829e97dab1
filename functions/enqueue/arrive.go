package main

import (
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// put reads the messages of a put.
func (c *call) put() (*intake.Put, *edge.Problem) {
	props, event, key, problem := c.props()
	if problem != nil {
		return nil, problem
	}
	p := &intake.Put{Scope: c.Scope}
	if props != nil {
		return p, props.events(p, event, key)
	}
	members, err := edge.Members(c.Body)
	if err != nil {
		return nil, edge.Invalid("body", err.Error())
	}
	key = c.IdempotencyKey
	if c.Direct {
		if key, members, problem = directKey(members); problem != nil {
			return nil, problem
		}
	}
	for _, m := range members {
		if m.Name == "messages" {
			if len(members) > 1 {
				return nil, edge.Invalid("messages", "must stand alone: what is beside it belongs into each message")
			}
			return p, readList(p, m.Value, key)
		}
	}
	p.Single = true
	return p, read(p, "", members, key)
}

// directKey takes the member that is to a direct invoke what the header
// Idempotency-Key is to HTTP.
func directKey(members []edge.Member) (string, []edge.Member, *edge.Problem) {
	value, rest := edge.TakeMember(members, "idempotencyKey")
	if value == nil {
		return "", members, nil
	}
	key, err := edge.Text(value)
	switch {
	case err != nil:
		return "", nil, edge.Invalid("idempotencyKey", err.Error())
	case key == "" || len(key) > cursor.MaxID:
		return "", nil, edge.Invalid("idempotencyKey", fmt.Sprintf("has %d bytes: it must have 1 to %d", len(key), cursor.MaxID))
	}
	return key, rest, nil
}

func readList(p *intake.Put, raw json.RawMessage, key string) *edge.Problem {
	list, problem := elements("messages", raw)
	if problem != nil {
		return problem
	}
	for i, raw := range list {
		members, err := edge.Members(raw)
		if err != nil {
			return edge.Invalid(fmt.Sprintf("messages[%d]", i), err.Error())
		}
		if problem := read(p, fmt.Sprintf("messages[%d].", i), members, key); problem != nil {
			return problem
		}
	}
	return nil
}

// read reads one message.
func read(p *intake.Put, prefix string, members []edge.Member, key string) *edge.Problem {
	m, numbered, problem := edge.ReadMessage(prefix, members)
	if problem != nil {
		return problem
	}
	return add(p, prefix, m, numbered, key)
}

// add adds a message to a put. Without a seq it is known by the call's key,
// together with all others of its queue, or by its own id.
func add(p *intake.Put, prefix string, m cursor.Message, numbered bool, key string) *edge.Problem {
	switch {
	case numbered:
		p.Add(m)
	case key != "":
		p.Join(m, key)
	case m.ID == "":
		return edge.Invalid(prefix+"seq", "is missing, and so is id: a numbered queue needs a seq; one in arrival order an id, or the header Idempotency-Key")
	default:
		id := m.ID
		m.ID = ""
		p.Arrive(m, id)
	}
	return nil
}
