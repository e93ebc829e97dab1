package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// maxMessages is how many messages one call takes.
const maxMessages = 500

// putMessages stores one message or several.
func putMessages(ctx context.Context, c *call) (int, any, *edge.Problem) {
	messages, single, problem := c.messages()
	if problem != nil {
		return 0, nil, problem
	}
	if single {
		result, err := c.sorter.Put(ctx, messages[0])
		if err != nil {
			return 0, nil, tooLarge(edge.ProblemOf(ctx, err))
		}
		c.count(result)
		answer := newPutAnswer(result)
		if problem := answer.problem(); problem != nil {
			return 0, nil, problem
		}
		return answer.Status, answer, nil
	}
	results, err := c.sorter.PutGroup(ctx, messages)
	if err != nil {
		return 0, nil, tooLarge(edge.ProblemOf(ctx, err))
	}
	answers := make([]putAnswer, len(results))
	unknown := 0
	for i, result := range results {
		c.count(result)
		answers[i] = newPutAnswer(result)
		if result.Err != nil {
			unknown++
			p := edge.ProblemOf(ctx, result.Err)
			answers[i].Status, answers[i].Detail = p.Status, p.Detail
		}
	}
	if unknown == len(results) {
		return 0, nil, edge.ProblemOf(ctx, results[0].Err)
	}
	return http.StatusOK, struct {
		Status  int         `json:"status"`
		Results []putAnswer `json:"results"`
	}{http.StatusOK, answers}, nil
}

// tooLarge gives a body over its limit the status that HTTP has for it.
func tooLarge(p *edge.Problem) *edge.Problem {
	if len(p.Errors) == 1 && strings.HasSuffix("."+p.Errors[0].Field, ".body") && strings.HasPrefix(p.Errors[0].Detail, "has ") {
		p.Status, p.Type, p.Title = http.StatusRequestEntityTooLarge, "too-large", "The message is too large"
	}
	return p
}

// count counts what became of a message.
func (c *call) count(r cursor.Result) {
	switch r.Outcome {
	case cursor.Advanced, cursor.Stored:
		c.Metrics.Count("MessagesStored", 1)
	case cursor.Parked:
		c.Metrics.Count("MessagesStored", 1)
		c.Metrics.Count("Parked", 1)
	case cursor.Duplicate:
		c.Metrics.Count("Duplicates", 1)
	case cursor.Conflict:
		c.Metrics.Count("Conflicts", 1)
	case cursor.Late, cursor.Stale:
		c.Metrics.Count("TooLate", 1)
	case cursor.Full:
		c.Metrics.Count("Full", 1)
	}
	// The moves of a group are told with each of its messages: count them
	// where the group's first seq of the move is.
	for _, moved := range r.Moves {
		if r.Seq == moved.From+1 {
			c.Metrics.Count("Advances", 1)
		}
	}
	if r.Err != nil || r.Deferred != nil {
		c.Metrics.Count("Errors", 1)
	}
}

// putAnswer is what became of a message, as callers see it.
type putAnswer struct {
	Status  int            `json:"status"`
	Outcome cursor.Outcome `json:"outcome,omitempty"`
	Queue   string         `json:"queue"`
	Seq     jsonseq.Seq    `json:"seq"`
	// Old and New: this call moved the queue from Old to New.
	Old    jsonseq.Seq `json:"old"`
	New    jsonseq.Seq `json:"new"`
	Detail string      `json:"detail,omitempty"`
}

// statusOf is the HTTP status of each outcome.
var statusOf = map[cursor.Outcome]int{
	cursor.Advanced:  http.StatusOK,
	cursor.Duplicate: http.StatusOK,
	cursor.Parked:    http.StatusAccepted,
	cursor.Stored:    http.StatusAccepted,
	cursor.Conflict:  http.StatusConflict,
	cursor.Late:      http.StatusGone,
	cursor.Stale:     http.StatusGone,
	cursor.Full:      http.StatusTooManyRequests,
}

// detailOf says in a sentence what an outcome that is no success means.
var detailOf = map[cursor.Outcome]string{
	cursor.Conflict: "another message is stored under this seq; it stays",
	cursor.Late:     "the seq was skipped: the queue's policy gave up waiting for it",
	cursor.Stale:    "the queue is past this seq, and nothing is stored there any more, or the queue begins behind it",
	cursor.Full:     "the seq is farther ahead of the queue's position than its maxAhead allows; nothing was stored",
}

func newPutAnswer(r cursor.Result) putAnswer {
	return putAnswer{
		Status: statusOf[r.Outcome], Outcome: r.Outcome, Queue: r.Queue, Seq: jsonseq.Seq(r.Seq),
		Old: jsonseq.Seq(r.Old), New: jsonseq.Seq(r.New), Detail: detailOf[r.Outcome],
	}
}

// problem is the problem document of an outcome that is no success.
func (a putAnswer) problem() *edge.Problem {
	if a.Status < http.StatusBadRequest {
		return nil
	}
	p := &edge.Problem{
		Status: a.Status, Type: string(a.Outcome), Title: "The message was not stored", Detail: a.Detail,
		More: map[string]any{"outcome": a.Outcome, "queue": a.Queue, "seq": a.Seq, "position": a.New},
	}
	if a.Outcome == cursor.Full {
		p.RetryAfter = 1
	}
	return p
}

// messages reads the messages of a put, and whether it is the call of a single
// one.
func (c *call) messages() ([]cursor.Message, bool, *edge.Problem) {
	props, event, problem := c.props()
	if problem != nil {
		return nil, false, problem
	}
	if props != nil {
		return c.events(props, event)
	}
	members, err := edge.Members(c.Body)
	if err != nil {
		return nil, false, edge.Invalid("body", err.Error())
	}
	for _, m := range members {
		if m.Name != "messages" {
			continue
		}
		if len(members) > 1 {
			return nil, false, edge.Invalid("messages", "must stand alone: what is beside it belongs into each message")
		}
		list, problem := elements("messages", m.Value)
		if problem != nil {
			return nil, false, problem
		}
		messages := make([]cursor.Message, len(list))
		for i, raw := range list {
			members, err := edge.Members(raw)
			if err != nil {
				return nil, false, edge.Invalid(fmt.Sprintf("messages[%d]", i), err.Error())
			}
			if messages[i], problem = message(fmt.Sprintf("messages[%d].", i), members); problem != nil {
				return nil, false, problem
			}
		}
		return messages, false, nil
	}
	one, problem := message("", members)
	return []cursor.Message{one}, true, problem
}

func elements(field string, raw json.RawMessage) ([]json.RawMessage, *edge.Problem) {
	list, err := edge.Elements(raw)
	switch {
	case err != nil:
		return nil, edge.Invalid(field, err.Error())
	case len(list) == 0 || len(list) > maxMessages:
		return nil, edge.Invalid(field, fmt.Sprintf("has %d messages: it must have 1 to %d", len(list), maxMessages))
	}
	return list, nil
}

// message reads a message's document. prefix stands before the fields' names
// in what is said of them.
func message(prefix string, members []edge.Member) (cursor.Message, *edge.Problem) {
	var m cursor.Message
	given := map[string]bool{}
	for _, member := range members {
		given[member.Name] = true
		var err error
		switch member.Name {
		case "queue":
			m.Queue, err = edge.Text(member.Value)
		case "seq":
			m.Seq, err = edge.Seq(member.Value)
		case "id":
			m.ID, err = edge.Text(member.Value)
		case "contentType":
			m.ContentType, err = edge.Text(member.Value)
		case "attributes":
			m.Attributes, err = attributes(member.Value)
		case "body":
			m.Body = member.Value
		case "bodyBase64":
			m.Body, err = base64Text(member.Value)
		default:
			err = fmt.Errorf("is not a field of a message: queue, seq, id, body, bodyBase64, contentType and attributes are")
		}
		if err != nil {
			return m, edge.Invalid(prefix+member.Name, err.Error())
		}
	}
	for _, field := range []string{"queue", "seq"} {
		if !given[field] {
			return m, edge.Invalid(prefix+field, "is missing")
		}
	}
	if given["body"] == given["bodyBase64"] {
		return m, edge.Invalid(prefix+"body", "must be given, or bodyBase64 instead, and not both")
	}
	if given["bodyBase64"] && !given["contentType"] {
		m.ContentType = "application/octet-stream"
	}
	return m, nil
}

func attributes(raw json.RawMessage) (map[string]string, error) {
	members, err := edge.Members(raw)
	if err != nil {
		return nil, err
	}
	attributes := make(map[string]string, len(members))
	for _, m := range members {
		value, err := edge.Text(m.Value)
		if err != nil {
			return nil, fmt.Errorf("must have strings as values: %q %w", m.Name, err)
		}
		attributes[m.Name] = value
	}
	return attributes, nil
}

func base64Text(raw json.RawMessage) ([]byte, error) {
	text, err := edge.Text(raw)
	if err != nil {
		return nil, err
	}
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("is not base64: %w", err)
	}
	return body, nil
}
