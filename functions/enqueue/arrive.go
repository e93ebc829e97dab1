package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

func (c *call) put(ctx context.Context) (*intake.Put, error) {
	if mode := cloudevents.ModeOf(c.Headers); mode != cloudevents.None {
		return c.cloudEvents(ctx, mode)
	}
	of, event, key, err := c.mapping()
	if err != nil {
		return nil, err
	}
	p := c.newPut()
	if of != nil {
		return p, c.addEvents(p, of, event, key)
	}
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return nil, invalid.Named(httpapi.RequestBody, err)
	}
	key = c.IdempotencyKey
	if c.Direct {
		if key, members, err = directKey(members); err != nil {
			return nil, err
		}
	}
	for _, m := range members {
		if m.Name == "messages" {
			if len(members) > 1 {
				return nil, invalid.New(invalid.Clash, "messages",
					"must stand alone: what is beside it belongs into each message")
			}
			return p, readList(p, m.Value, key)
		}
	}
	p.Single = true
	return p, read(p, members, key)
}

func (c *call) newPut() *intake.Put {
	return &intake.Put{Scope: c.Scope, Tenant: c.Tenant(), Quotas: c.quotas, Log: c.log,
		Trace: c.Trace()}
}

// directKey takes the member that is to a direct invoke what the header Idempotency-Key is to HTTP.
func directKey(members []strictjson.Member) (string, []strictjson.Member, error) {
	value, rest := strictjson.Take(members, "idempotencyKey")
	if value == nil {
		return "", members, nil
	}
	key, err := strictjson.Text(value)
	switch {
	case err != nil:
		return "", nil, invalid.Named("idempotencyKey", err)
	case key == "" || len(key) > cursor.MaxID:
		return "", nil, invalid.New(invalid.TextCode(key, cursor.MaxID), "idempotencyKey",
			fmt.Sprintf("has %d bytes: it must have 1 to %d", len(key), cursor.MaxID))
	}
	return key, rest, nil
}

func readList(p *intake.Put, raw json.RawMessage, key string) error {
	list, err := elements("messages", raw)
	if err != nil {
		return err
	}
	for i, raw := range list {
		members, err := strictjson.Members(raw)
		if err != nil {
			return invalid.Within("messages", i, err)
		}
		if err := read(p, members, key); err != nil {
			return invalid.Within("messages", i, err)
		}
	}
	return nil
}

func read(p *intake.Put, members []strictjson.Member, key string) error {
	m, err := message.Read(members)
	if err != nil {
		return err
	}
	return add(p, m, key)
}

// add adds a message to a put. Without a seq and a key of its own it is known by the call's key,
// together with all others of its queue, or by its own id.
func add(p *intake.Put, m cursor.Message, key string) error {
	if m.Seq == cursor.NoSeq && m.KeyParts == nil {
		m.PutID = key
	}
	if m.Seq == cursor.NoSeq && m.KeyParts == nil && m.ID+key == "" {
		return invalid.New(invalid.Missing, "seq", "is missing, and so is id: a numbered queue needs a seq; one in arrival order an id, or the header Idempotency-Key; a keyed one a key and an id")
	}
	p.Take(m)
	return nil
}

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
