package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

func putMessages(ctx context.Context, c *call) (int, any, error) {
	p, err := c.put(ctx)
	if err != nil {
		return 0, nil, err
	}
	answers, err := p.Store(ctx, c.sorter, c.Metrics)
	if err != nil {
		return 0, nil, err
	}
	if c.Alias != "" {
		if err := c.unfinished(ctx, answers); err != nil {
			return 0, nil, err
		}
	}
	if p.Single {
		return answers[0].Status, answers[0], answers[0].Refused()
	}
	stored := func(a intake.Answer) bool { return a.Failure == nil }
	// A batch of CloudEvents may be empty.
	if len(answers) > 0 && !slices.ContainsFunc(answers, stored) {
		return 0, nil, c.failureOf(ctx, answers)
	}
	for i, answer := range answers {
		if answer.Failure != nil {
			problem := httpapi.ProblemOf(ctx, c.Scope, answer.Failure)
			answers[i].Status, answers[i].Code, answers[i].Detail = problem.Status, problem.Code(),
				problem.Error()
		}
		if answers[i].Status >= http.StatusBadRequest {
			c.Refused++
		}
	}
	return http.StatusOK, struct {
		Status  int             `json:"status"`
		Results []intake.Answer `json:"results"`
	}{http.StatusOK, answers}, nil
}

// unfinished is the first problem of messages that may pass: an event source repeats a call as a
// whole, and what is stored already is a duplicate then.
func (c *call) unfinished(ctx context.Context, answers []intake.Answer) error {
	for _, a := range answers {
		if err := a.Refused(); err != nil {
			if problem := httpapi.ProblemOf(ctx, c.Scope, err); problem.MayPass() {
				return problem
			}
		}
	}
	return nil
}

// failureOf is the answer to a call none of whose messages is known to be stored: the first failure
// that a repeat may fix, for such a message may be stored, and its caller has to repeat; without
// one, the first.
func (c *call) failureOf(ctx context.Context, answers []intake.Answer) error {
	for _, a := range answers {
		if problem := httpapi.ProblemOf(ctx, c.Scope,
			a.Failure); problem.Status >= http.StatusInternalServerError {
			return problem
		}
	}
	return invalid.Within("messages", 0, answers[0].Failure)
}

func elements(field string, raw json.RawMessage) ([]json.RawMessage, error) {
	list, err := strictjson.Elements(raw, intake.MaxMessages)
	switch {
	case err != nil:
		return nil, invalid.Named(field, err)
	case len(list) == 0:
		return nil, invalid.New(invalid.OutOfRange, field,
			fmt.Sprintf("is empty: it must have 1 to %d messages", intake.MaxMessages))
	}
	return list, nil
}
