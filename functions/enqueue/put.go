package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/intake"
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
		problem := answers[0].Failure
		for i := range problem.Errors {
			problem.Errors[i].Field = "messages[0]." + problem.Errors[i].Field
		}
		return 0, nil, problem
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
