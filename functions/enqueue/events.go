package main

import (
	"encoding/json"
	"fmt"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// props are the ways to the queue and the seq of a raw event.
type props struct {
	queue, seq edge.FieldPath
}

// props are the paths that this put uses, nil where its messages are documents
// of ours; and the event. The caller's come first (parameters of the query, or
// members of a direct invoke's document beside "event"), then the stack's.
func (c *call) props() (*props, json.RawMessage, *edge.Problem) {
	queueProp, seqProp, event := "", "", json.RawMessage(c.Body)
	if c.Direct {
		var problem *edge.Problem
		if queueProp, seqProp, event, problem = c.directProps(); problem != nil {
			return nil, nil, problem
		}
	} else {
		if problem := c.Only("queueProp", "seqProp"); problem != nil {
			return nil, nil, problem
		}
		var problem *edge.Problem
		if queueProp, problem = c.One("queueProp"); problem != nil {
			return nil, nil, problem
		}
		if seqProp, problem = c.One("seqProp"); problem != nil {
			return nil, nil, problem
		}
	}
	if queueProp == "" && seqProp == "" {
		queueProp, seqProp = c.queueProp, c.seqProp
	}
	switch {
	case queueProp == "" && seqProp == "":
		return nil, nil, nil
	case queueProp == "":
		return nil, nil, edge.Invalid("queueProp", "is missing beside seqProp")
	case seqProp == "":
		return nil, nil, edge.Invalid("seqProp", "is missing beside queueProp")
	}
	var p props
	var err error
	if p.queue, err = edge.ParseFieldPath(queueProp); err != nil {
		return nil, nil, edge.Invalid("queueProp", err.Error())
	}
	if p.seq, err = edge.ParseFieldPath(seqProp); err != nil {
		return nil, nil, edge.Invalid("seqProp", err.Error())
	}
	return &p, event, nil
}

// directProps reads {"queueProp", "seqProp", "event"}; anything else is no such
// document.
func (c *call) directProps() (queueProp, seqProp string, event json.RawMessage, problem *edge.Problem) {
	event = c.Body
	members, err := edge.Members(c.Body)
	if err != nil || len(members) != 3 {
		return "", "", event, nil
	}
	values := map[string]json.RawMessage{}
	for _, m := range members {
		values[m.Name] = m.Value
	}
	if values["queueProp"] == nil || values["seqProp"] == nil || values["event"] == nil {
		return "", "", event, nil
	}
	if queueProp, err = edge.Text(values["queueProp"]); err != nil {
		return "", "", nil, edge.Invalid("queueProp", err.Error())
	}
	if seqProp, err = edge.Text(values["seqProp"]); err != nil {
		return "", "", nil, edge.Invalid("seqProp", err.Error())
	}
	return queueProp, seqProp, values["event"], nil
}

// events makes a message of each raw event: of one object, or of each element
// of an array. The event, byte for byte, is the body.
func (c *call) events(p *props, raw json.RawMessage) ([]cursor.Message, bool, *edge.Problem) {
	if !edge.IsArray(raw) {
		m, problem := p.message("", raw)
		return []cursor.Message{m}, true, problem
	}
	list, problem := elements("body", raw)
	if problem != nil {
		return nil, false, problem
	}
	messages := make([]cursor.Message, len(list))
	for i, event := range list {
		if messages[i], problem = p.message(fmt.Sprintf("messages[%d].", i), event); problem != nil {
			return nil, false, problem
		}
	}
	return messages, false, nil
}

func (p *props) message(prefix string, event json.RawMessage) (cursor.Message, *edge.Problem) {
	m := cursor.Message{Body: event}
	if _, err := edge.Members(event); err != nil {
		return m, edge.Invalid(prefix+"body", err.Error())
	}
	queue, err := p.queue.Find(event)
	if err == nil {
		m.Queue, err = edge.Name(queue)
	}
	if err != nil {
		return m, edge.Invalid(prefix+"queue", err.Error())
	}
	seq, err := p.seq.Find(event)
	if err == nil {
		m.Seq, err = edge.Seq(seq)
	}
	if err != nil {
		return m, edge.Invalid(prefix+"seq", err.Error())
	}
	return m, nil
}
