package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/intake"
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
	answers, problem := p.Store(ctx, c.sorter, c.Metrics)
	if problem != nil {
		return 0, nil, problem
	}
	if p.Single {
		if problem := answers[0].Problem(); problem != nil {
			return 0, nil, problem
		}
		return answers[0].Status, answers[0], nil
	}
	unknown := 0
	for i, answer := range answers {
		if f := answer.Failure; f != nil {
			unknown++
			answers[i].Status, answers[i].Detail = f.Status, f.Detail
			if len(f.Errors) > 0 {
				answers[i].Detail = f.Errors[0].Field + " " + f.Errors[0].Detail
			}
		}
	}
	if unknown == len(answers) {
		return 0, nil, answers[0].Failure
	}
	return http.StatusOK, struct {
		Status  int             `json:"status"`
		Results []intake.Answer `json:"results"`
	}{http.StatusOK, answers}, nil
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
