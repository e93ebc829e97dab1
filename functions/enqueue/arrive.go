package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// put is what one call brings.
type put struct {
	// single tells that it is one message, and not in a list; count how many
	// there are.
	single bool
	count  int
	// messages are those with a seq, arrivals the others. numbered and arrived
	// are their places in the call.
	messages          []cursor.Message
	arrivals          []cursor.Arrival
	numbered, arrived [][]int
}

// put reads the messages of a put.
func (c *call) put() (*put, *edge.Problem) {
	props, event, problem := c.props()
	if problem != nil {
		return nil, problem
	}
	p := &put{}
	if props != nil {
		messages, single, problem := c.events(props, event)
		p.single = single
		for _, m := range messages {
			p.add(m)
		}
		return p, problem
	}
	members, err := edge.Members(c.Body)
	if err != nil {
		return nil, edge.Invalid("body", err.Error())
	}
	key := c.IdempotencyKey
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
			return p, p.readList(m.Value, key)
		}
	}
	p.single = true
	return p, p.read("", members, key)
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
		return "", nil, edge.Invalid("idempotencyKey", "must have 1 to "+strconv.Itoa(cursor.MaxID)+" bytes")
	}
	return key, rest, nil
}

func (p *put) readList(raw json.RawMessage, key string) *edge.Problem {
	list, problem := elements("messages", raw)
	if problem != nil {
		return problem
	}
	for i, raw := range list {
		members, err := edge.Members(raw)
		if err != nil {
			return edge.Invalid(fmt.Sprintf("messages[%d]", i), err.Error())
		}
		if problem := p.read(fmt.Sprintf("messages[%d].", i), members, key); problem != nil {
			return problem
		}
	}
	return nil
}

// read reads one message. Without a seq it is known by the call's key, together
// with all others of its queue, or by its own id.
func (p *put) read(prefix string, members []edge.Member, key string) *edge.Problem {
	m, numbered, problem := message(prefix, members)
	switch {
	case problem != nil:
		return problem
	case numbered:
		p.add(m)
	case key != "":
		p.join(m, key)
	case m.ID == "":
		return edge.Invalid(prefix+"seq", "is missing; for a queue in arrival order, an id or the header Idempotency-Key is")
	default:
		id := m.ID
		m.ID = ""
		p.arrive(m, id)
	}
	return nil
}

// add adds a message with a seq.
func (p *put) add(m cursor.Message) {
	p.messages, p.numbered = append(p.messages, m), append(p.numbered, []int{p.count})
	p.count++
}

// arrive adds a message without one, under an id of its own.
func (p *put) arrive(m cursor.Message, id string) {
	queue := m.Queue
	m.Queue = ""
	p.arrivals = append(p.arrivals, cursor.Arrival{Queue: queue, ID: id, Messages: []cursor.Message{m}})
	p.arrived = append(p.arrived, []int{p.count})
	p.count++
}

// join adds a message to those of its queue.
func (p *put) join(m cursor.Message, id string) {
	for i := range p.arrivals {
		if a := &p.arrivals[i]; a.Queue == m.Queue {
			m.Queue = ""
			a.Messages, p.arrived[i] = append(a.Messages, m), append(p.arrived[i], p.count)
			p.count++
			return
		}
	}
	p.arrive(m, id)
}

// reindexed makes a problem speak of the messages by their places in the call,
// where it speaks of them by their index in a part of it.
func (p *put) reindexed(problem *edge.Problem, places [][]int) *edge.Problem {
	for i, e := range problem.Errors {
		outer, rest, ok := index(e.Field)
		if !ok || outer >= len(places) {
			continue
		}
		place := places[outer][0]
		if inner, innerRest, ok := index(rest); ok && inner < len(places[outer]) {
			place, rest = places[outer][inner], innerRest
		}
		field := fmt.Sprintf("messages[%d].%s", place, rest)
		if p.single || rest == "messages" {
			field = rest
		}
		problem.Errors[i].Field = field
	}
	return problem
}

// index reads "messages[7].rest".
func index(field string) (n int, rest string, ok bool) {
	text, ok := strings.CutPrefix(field, "messages[")
	if !ok {
		return 0, field, false
	}
	text, rest, ok = strings.Cut(text, "].")
	n, err := strconv.Atoi(text)
	return n, rest, ok && err == nil
}

// newArrivalAnswer is the answer for message n of an arrival.
func newArrivalAnswer(r cursor.Appended, n int) putAnswer {
	a := putAnswer{Status: statusOf[r.Outcome], Outcome: r.Outcome, Queue: r.Queue, Detail: arrivalDetailOf[r.Outcome]}
	if r.Outcome == cursor.Advanced || r.Outcome == cursor.Duplicate {
		moved := r.Moved
		if moved == (cursor.Range{}) {
			moved = cursor.Range{From: r.Seqs.To, To: r.Seqs.To}
		}
		a.Seq, a.Old, a.New = seqOf(r.Seqs.From+1+int64(n)), seqOf(moved.From), seqOf(moved.To)
	}
	return a
}

// arrivalDetailOf is detailOf for a queue in arrival order.
var arrivalDetailOf = map[cursor.Outcome]string{
	cursor.Conflict: "another message is stored under this id; it stays",
	cursor.Stale:    "it was stored before, and its place has been deleted",
	cursor.Full:     "the queue has no seqs left",
}

// countArrival counts what became of an arrival of n messages.
func (c *call) countArrival(r cursor.Appended, n int) {
	switch r.Outcome {
	case cursor.Advanced:
		c.Metrics.Count("MessagesStored", n)
	case cursor.Duplicate:
		c.Metrics.Count("Duplicates", n)
	case cursor.Conflict:
		c.Metrics.Count("Conflicts", n)
	case cursor.Stale:
		c.Metrics.Count("TooLate", n)
	case cursor.Full:
		c.Metrics.Count("Full", n)
	}
	// The move of several is told with each of them.
	if r.Moved != (cursor.Range{}) && r.Seqs.From == r.Moved.From {
		c.Metrics.Count("Advances", 1)
	}
	c.countError(r.Err)
}
