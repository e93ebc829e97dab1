package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// selectionAnswer is whom a batch of acts selects.
type selectionAnswer struct {
	Consumer string        `json:"consumer,omitempty"`
	State    trouble.State `json:"state,omitempty"`
	Prefix   string        `json:"prefix,omitempty"`
	Error    string        `json:"error,omitempty"`
	Since    time.Time     `json:"since,omitzero"`
}

// oneAnswer is a consumer of a queue, and why an act on it was refused.
type oneAnswer struct {
	Queue    string `json:"queue"`
	Consumer string `json:"consumer"`
	Why      string `json:"why,omitempty"`
}

// batchAnswer is a batch of acts, as callers see it.
type batchAnswer struct {
	Status int    `json:"status,omitempty"`
	Batch  string `json:"batch"`
	// Token starts the batch; empty where it was started, or stopped.
	Token     string          `json:"token,omitempty"`
	State     acts.State      `json:"state"`
	Action    string          `json:"action"`
	Start     string          `json:"start,omitempty"`
	Reason    string          `json:"reason"`
	Rate      int             `json:"rate"`
	Selection selectionAnswer `json:"selection"`
	Who       *whoAnswer      `json:"who,omitempty"`
	At        time.Time       `json:"at"`
	Started   time.Time       `json:"started,omitzero"`
	Ended     time.Time       `json:"ended,omitzero"`
	// Selected is how many were found when it was looked at, More that there are others, First some of them.
	Selected int         `json:"selected"`
	More     bool        `json:"more,omitempty"`
	First    []oneAnswer `json:"first,omitempty"`
	Done     int         `json:"done"`
	Failed   int         `json:"failed"`
	Passed   int         `json:"passed"`
	Failures []oneAnswer `json:"failures,omitempty"`
}

func newBatchAnswer(scope tenancy.Scope, b acts.Batch) batchAnswer {
	a := batchAnswer{
		Batch: b.ID, State: b.State, Action: b.Action, Start: b.Start, Reason: b.Reason, Rate: b.Rate,
		Selection: selectionAnswer{b.Consumer, b.Ask.State, scope.Short(b.Prefix), b.Error, b.Since},
		Who:       newWho(scope, b.Who), At: b.At, Started: b.Started, Ended: b.Ended,
		Selected: b.Selected, More: b.More, Done: b.Done, Failed: b.Failed, Passed: b.Passed,
	}
	if b.State == acts.Dry {
		a.Token = b.ID
	}
	for _, f := range b.Failures {
		a.Failures = append(a.Failures, oneAnswer{scope.Short(f.Queue), f.Consumer, f.Why})
	}
	return a
}

// act looks at a batch of acts, starts or stops one.
func (s *service) act(ctx context.Context, c *httpapi.Call) (int, any, error) {
	asked, err := readActs(c)
	if err != nil {
		return 0, nil, err
	}
	desk := acts.New(s.deliverer)
	switch {
	case asked.token != "":
		return s.answerBatch(c, c.Tenant(), asked.token, func(id acts.ID) (acts.Batch, error) {
			b, err := desk.Start(ctx, id, handoff.Who(c.Identity()))
			if err == nil && b.State == acts.Running && s.goOn != nil {
				s.goOn(id.String(), s.now())
			}
			return b, err
		})
	case asked.batch != "":
		return s.answerBatch(c, asked.of, asked.batch, func(id acts.ID) (acts.Batch, error) { return desk.Stop(ctx, id) })
	}
	looked, err := desk.Look(ctx, asked.Ask)
	if err != nil {
		return 0, nil, err
	}
	a := newBatchAnswer(c.Scope, looked.Batch)
	a.Status = http.StatusOK
	for _, one := range looked.First {
		a.First = append(a.First, oneAnswer{Queue: c.Short(one.Queue), Consumer: one.Consumer})
	}
	return http.StatusOK, a, nil
}

// answerBatch does something to a batch of a tenant, or of an operator, and shows it.
func (s *service) answerBatch(c *httpapi.Call, of, id string, do func(acts.ID) (acts.Batch, error)) (int, any, error) {
	b, err := do(acts.ID{Tenant: of, ID: id})
	if err != nil {
		return 0, nil, err
	}
	a := newBatchAnswer(c.Scope, b)
	a.Status = http.StatusOK
	return http.StatusOK, a, nil
}

// actsAsked is what is asked of batches of acts: a new one, or to start or stop one.
type actsAsked struct {
	acts.Ask
	token, batch string
	// of is whose batch it is: a tenant's, also where an operator asks.
	of string
}

// whose is whose batches a caller asks for: its own, or, for an operator, those of a tenant.
func whose(c *httpapi.Call, given string) (string, error) {
	if given == "" {
		return c.Tenant(), nil
	}
	if c.Tenant() != "" {
		return "", invalid.New(invalid.Misplaced, "tenant", "is for operators: a tenant's batches are its own")
	}
	if err := tenant.Validate(given); err != nil {
		return "", invalid.Named("tenant", err)
	}
	return given, nil
}

// readActs reads the document of POST /acts.
func readActs(c *httpapi.Call) (actsAsked, error) {
	var a actsAsked
	members, err := body(c)
	if err != nil {
		return a, err
	}
	stop := false
	for _, m := range members {
		var err error
		switch m.Name {
		case "token":
			a.token, err = batchID(m.Value)
		case "batch":
			a.batch, err = batchID(m.Value)
		case "tenant":
			a.of, err = strictjson.Text(m.Value)
		case "stop":
			if stop = string(m.Value) == "true"; !stop {
				err = invalid.New(invalid.Malformed, "", "must be true")
			}
		default:
			err = a.read(m)
		}
		if err != nil {
			return a, invalid.Named(m.Name, err)
		}
	}
	given := a.of
	if a.of, err = whose(c, given); err != nil {
		return a, err
	}
	switch {
	case a.token != "" && len(members) > 1:
		return a, invalid.New(invalid.Misplaced, "token", "must stand alone: the batch is as it was looked at")
	case (a.batch != "" || stop || given != "") && (a.batch == "" || !stop || len(members) > 3 || len(members) == 3 && given == ""):
		return a, invalid.New(invalid.Misplaced, "stop", "must stand beside batch, and for an operator tenant, and nothing else")
	case a.token != "" || a.batch != "":
		return a, nil
	}
	a.Tenant, a.Who = c.Tenant(), handoff.Who(c.Identity())
	if a.Tenant != "" {
		a.Prefix = tenant.Name(a.Tenant, a.Prefix)
	}
	return a, a.Validate()
}

// read reads a member of a new batch.
func (a *actsAsked) read(m strictjson.Member) (err error) {
	switch m.Name {
	case "action":
		a.Action, err = strictjson.Text(m.Value)
	case "reason":
		a.Reason, err = strictjson.Text(m.Value)
	case "consumer":
		a.Consumer, err = strictjson.Text(m.Value)
	case "prefix":
		a.Prefix, err = strictjson.Text(m.Value)
	case "error":
		a.Error, err = strictjson.Text(m.Value)
	case "state":
		var state string
		state, err = strictjson.Text(m.Value)
		a.State = trouble.State(state)
	case "start":
		var start handoff.Start
		if start, err = startOf(m.Value); err == nil {
			a.Start = start.String()
		}
	case "rate":
		if a.Rate, err = strictjson.Positive(m.Value); err == nil && a.Rate == 0 {
			err = invalid.New(invalid.OutOfRange, "", "must be 1 at least")
		}
	case "since":
		a.Since, err = timeOf(m.Value)
	default:
		return invalid.New(invalid.Unknown, "", "is not a field of a batch of acts: action, reason, consumer, state, prefix, error, since, rate and start are; or token; or batch and stop")
	}
	return err
}

// maxBatch is the most bytes of a batch's id.
const maxBatch = 64

// batchID reads the id of a batch, which has no character that could be another key's.
func batchID(raw json.RawMessage) (string, error) {
	id, err := strictjson.Text(raw)
	if err == nil {
		err = validateBatch(id)
	}
	return id, err
}

func validateBatch(id string) error {
	if id == "" || len(id) > maxBatch || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return invalid.New(invalid.Malformed, "", "must be the one of an earlier answer")
	}
	return nil
}

func timeOf(raw json.RawMessage) (time.Time, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, invalid.New(invalid.Malformed, "", "must be a time such as 2026-01-31T23:59:59Z")
	}
	return at.UTC(), nil
}

// batches shows a batch of acts, or the last ones.
func (s *service) batches(ctx context.Context, c *httpapi.Call) (int, any, error) {
	given, err := parameters(c, "batch", "tenant", "after", "limit")
	if err != nil {
		return 0, nil, err
	}
	of, err := whose(c, given["tenant"])
	if err != nil {
		return 0, nil, err
	}
	limit, err := c.Limit()
	if err != nil {
		return 0, nil, err
	}
	for _, name := range []string{"batch", "after"} {
		if given[name] != "" {
			if err := validateBatch(given[name]); err != nil {
				return 0, nil, invalid.Named(name, err)
			}
		}
	}
	desk := acts.New(s.deliverer)
	if given["batch"] != "" {
		return s.answerBatch(c, of, given["batch"], func(id acts.ID) (acts.Batch, error) { return desk.Batch(ctx, id) })
	}
	page, next, err := desk.List(ctx, of, given["after"], limit)
	if err != nil {
		return 0, nil, err
	}
	list := []batchAnswer{}
	for _, b := range page {
		list = append(list, newBatchAnswer(c.Scope, b))
	}
	return http.StatusOK, struct {
		Status  int           `json:"status"`
		Batches []batchAnswer `json:"batches"`
		Next    string        `json:"next,omitempty"`
	}{http.StatusOK, list, next}, nil
}

// problemOfActs says what an error about batches of acts is to the caller, nil for another one.
func problemOfActs(err error) *httpapi.Problem {
	switch {
	case errors.Is(err, acts.ErrNone):
		return &httpapi.Problem{Status: http.StatusNotFound, Type: "no-batch", Title: "There is no such batch of acts", Detail: "there is no such batch of acts, or none of yours: GET /acts lists them"}
	case errors.Is(err, acts.ErrTooLate), errors.Is(err, acts.ErrAnothers):
		return &httpapi.Problem{Status: http.StatusConflict, Type: "not-startable", Title: "The batch of acts cannot be started", Detail: err.Error() + "; look again, and start that"}
	}
	return nil
}
