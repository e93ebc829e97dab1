package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// maxMessages is how many messages one call takes.
const maxMessages = 500

// putMessages stores one message or several.
func putMessages(ctx context.Context, c *call) (int, any, error) {
	p, err := c.put()
	if err != nil {
		return 0, nil, err
	}
	answers, err := p.Store(ctx, c.sorter, c.Metrics)
	if err != nil {
		return 0, nil, err
	}
	if p.Single {
		if err := answers[0].Problem(); err != nil {
			return 0, nil, err
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

func elements(field string, raw json.RawMessage) ([]json.RawMessage, error) {
	list, err := strictjson.Elements(raw)
	switch {
	case err != nil:
		return nil, httpapi.Invalid(field, err.Error())
	case len(list) == 0 || len(list) > maxMessages:
		return nil, httpapi.Invalid(field, fmt.Sprintf("has %d messages: it must have 1 to %d", len(list), maxMessages))
	}
	return list, nil
}
