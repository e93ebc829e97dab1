package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	p, problem := c.put()
	if problem != nil {
		return 0, nil, problem
	}
	if len(p.arrivals) > 0 {
		// All is looked at before anything is stored.
		if err := cursor.ValidateArrivals(p.arrivals); err != nil {
			return 0, nil, tooLarge(p.reindexed(edge.ProblemOf(ctx, err), p.arrived))
		}
	}
	answers, problem := c.store(ctx, p)
	if problem != nil {
		return 0, nil, problem
	}
	if p.single {
		if problem := answers[0].failure; problem != nil {
			return 0, nil, problem
		}
		if problem := answers[0].problem(); problem != nil {
			return 0, nil, problem
		}
		return answers[0].Status, answers[0], nil
	}
	unknown := 0
	for i, answer := range answers {
		if f := answer.failure; f != nil {
			unknown++
			answers[i].Status, answers[i].Detail = f.Status, f.Detail
			if len(f.Errors) > 0 {
				answers[i].Detail = f.Errors[0].Field + " " + f.Errors[0].Detail
			}
		}
	}
	if unknown == len(answers) {
		return 0, nil, answers[0].failure
	}
	return http.StatusOK, struct {
		Status  int         `json:"status"`
		Results []putAnswer `json:"results"`
	}{http.StatusOK, answers}, nil
}

// store stores what a put brings: what has a seq, then what has none.
func (c *call) store(ctx context.Context, p *put) ([]putAnswer, *edge.Problem) {
	answers := make([]putAnswer, p.count)
	if len(p.messages) > 0 {
		results, err := c.sorter.PutGroup(ctx, p.messages)
		if err != nil {
			return nil, tooLarge(p.reindexed(edge.ProblemOf(ctx, err), p.numbered))
		}
		for i, result := range results {
			c.count(result)
			answers[p.numbered[i][0]] = newPutAnswer(result)
			if result.Err != nil {
				answers[p.numbered[i][0]].failure = edge.ProblemOf(ctx, result.Err)
			}
		}
	}
	if len(p.arrivals) > 0 {
		results, err := c.sorter.AppendGroup(ctx, p.arrivals)
		if err != nil {
			return nil, tooLarge(p.reindexed(edge.ProblemOf(ctx, err), p.arrived))
		}
		for i, result := range results {
			c.countArrival(result, len(p.arrived[i]))
			for n, place := range p.arrived[i] {
				answers[place] = newArrivalAnswer(result, n)
				if result.Err != nil {
					answers[place].failure = edge.ProblemOf(ctx, result.Err)
				}
			}
		}
	}
	return answers, nil
}

// tooLarge gives a body over its limit the status that HTTP has for it.
func tooLarge(p *edge.Problem) *edge.Problem {
	if len(p.Errors) != 1 {
		return p
	}
	field, detail := "."+p.Errors[0].Field, p.Errors[0].Detail
	if strings.HasSuffix(field, ".body") && strings.HasPrefix(detail, "has ") ||
		strings.HasSuffix(field, ".messages") && strings.HasPrefix(detail, "have ") {
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
	c.countError(r.Err)
	c.countError(r.Deferred)
}

// countError counts what is not the caller's mistake.
func (c *call) countError(err error) {
	var invalid *cursor.InvalidError
	if err != nil && !errors.As(err, &invalid) {
		c.Metrics.Count("Errors", 1)
	}
}

// putAnswer is what became of a message, as callers see it.
type putAnswer struct {
	Status  int            `json:"status"`
	Outcome cursor.Outcome `json:"outcome,omitempty"`
	Queue   string         `json:"queue"`
	// Seq is missing where a queue in arrival order gave none.
	Seq *jsonseq.Seq `json:"seq,omitempty"`
	// Old and New: this call moved the queue from Old to New.
	Old    *jsonseq.Seq `json:"old,omitempty"`
	New    *jsonseq.Seq `json:"new,omitempty"`
	Detail string       `json:"detail,omitempty"`

	// failure is why the message's fate is unknown, or that it is not for this
	// queue.
	failure *edge.Problem
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
		Status: statusOf[r.Outcome], Outcome: r.Outcome, Queue: r.Queue, Seq: seqOf(r.Seq),
		Old: seqOf(r.Old), New: seqOf(r.New), Detail: detailOf[r.Outcome],
	}
}

func seqOf(seq int64) *jsonseq.Seq { return (*jsonseq.Seq)(&seq) }

// problem is the problem document of an outcome that is no success.
func (a putAnswer) problem() *edge.Problem {
	if a.Status < http.StatusBadRequest {
		return nil
	}
	p := &edge.Problem{
		Status: a.Status, Type: string(a.Outcome), Title: "The message was not stored", Detail: a.Detail,
		More: map[string]any{"outcome": a.Outcome, "queue": a.Queue},
	}
	if a.Seq != nil {
		p.More["seq"], p.More["position"] = a.Seq, a.New
	}
	if a.Outcome == cursor.Full {
		p.RetryAfter = 1
	}
	return p
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

// message reads a message's document, and whether it has a seq. prefix stands
// before the fields' names in what is said of them.
func message(prefix string, members []edge.Member) (m cursor.Message, numbered bool, problem *edge.Problem) {
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
			return m, false, edge.Invalid(prefix+member.Name, err.Error())
		}
	}
	if !given["queue"] {
		return m, false, edge.Invalid(prefix+"queue", "is missing")
	}
	if given["body"] == given["bodyBase64"] {
		return m, false, edge.Invalid(prefix+"body", "must be given, or bodyBase64 instead, and not both")
	}
	if given["bodyBase64"] && !given["contentType"] {
		m.ContentType = "application/octet-stream"
	}
	return m, given["seq"], nil
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
