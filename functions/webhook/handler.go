package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/webhook"
	"github.com/streamsort/streamsort/pkg/cursor"
)

type service struct {
	sorter  *cursor.Sorter
	sources map[string]*webhook.Source
	secrets *secret.Cache
	now     func() time.Time
	quotas  *quota.Keeper
	log     calllog.Log
}

func (s *service) api() *httpapi.API { return &httpapi.API{Any: s.receive, Log: s.log} }

// receive takes one request. Before the signature is known to be right, whatever is wrong is
// answered in the same words, also where there is no such source.
func (s *service) receive(ctx context.Context, c *httpapi.Call) (int, any, error) {
	if c.Direct {
		return s.direct(ctx, c)
	}
	source := s.sources[c.Resource]
	switch {
	case source != nil && source.Challenge.Method() != "" && c.Method == source.Challenge.Method():
		return s.challenge(ctx, c, source)
	case c.Method != http.MethodPost:
		return 0, nil, httpapi.NoMethod(
			"webhooks have POST; the method of a challenge only where the source asks for it",
			http.MethodPost)
	case len(c.Body) > cursor.MaxBody && (source == nil || !source.Splits()):
		return 0, nil, webhook.TooLarge(cursor.MaxBody)
	case source == nil:
		c.Metrics.Count("WebhooksUnknown", 1)
		return 0, nil, refused()
	}
	if err := s.authenticate(ctx, c, source); err != nil {
		return 0, nil, err
	}
	if kind := c.Headers["content-type"]; kind == "" || strictjson.IsJSON(kind) {
		c.Body = httpapi.WithoutMark(c.Body)
	}
	if answer, asked := source.Challenge.Slack(c.Body); asked {
		return http.StatusOK, answer, nil
	}
	messages, err := source.Messages(&c.Request, s.now())
	if err != nil {
		// A sender that signs and is not understood has a wrong description here.
		c.Metrics.Count("WebhooksInvalid", 1)
		problem := httpapi.ProblemOf(ctx, c.Scope, err)
		slog.WarnContext(ctx, "not understood", "source", source.Name, "field", problem.Errors[0].Field,
			"problem", problem.Type)
		return 0, nil, err
	}
	c.Metrics.Count("WebhooksAccepted", 1)
	return s.store(ctx, c, source, messages)
}

// authenticate is the problem of a request that the source has not signed, or of which that cannot
// be known.
func (s *service) authenticate(ctx context.Context, c *httpapi.Call, source *webhook.Source) error {
	claim, why := source.Signature.Read(c.Headers, s.now())
	if why == "" {
		// Some senders sign what they pack, others what they have packed.
		bodies := [][]byte{c.Body, c.Packed}
		if c.Packed == nil {
			bodies = bodies[:1]
		}
		var err error
		why, err = claim.Check(ctx, s.secrets, source.Secret, bodies...)
		if err != nil {
			slog.ErrorContext(ctx, "the secrets cannot be had", "source", source.Name, "error", err)
			return unknown()
		}
	}
	if why == "" {
		return nil
	}
	return s.refuse(ctx, c, source, why)
}

// refuse is the problem of a request that is refused, whose reason the log has.
func (s *service) refuse(ctx context.Context, c *httpapi.Call, source *webhook.Source,
	why webhook.Refusal) error {
	c.Metrics.Count("WebhooksRefused", 1)
	slog.WarnContext(ctx, "refused", "source", source.Name, "why", string(why))
	return refused()
}

func unknown() error {
	return httpapi.Unavailable(
		"whether the request is signed cannot be known now; repeating it is safe")
}

// refused is the answer to everybody who has not signed.
func refused() error {
	return httpapi.NewProblem(http.StatusUnauthorized, "not-signed",
		"The request is not signed as it must be", "")
}

// answer is what became of a request, as its sender sees it: which queue the message went to, and
// not how far that is, which is not the sender's business.
type answer struct {
	Status  int            `json:"status"`
	Outcome cursor.Outcome `json:"outcome"`
	Queue   string         `json:"queue"`
	Detail  string         `json:"detail,omitempty"`
	// ClockAhead tells that a time of its key was too far ahead: the time of receipt is there
	// instead.
	ClockAhead bool `json:"clockAhead,omitempty"`
}

// store stores the messages, through the code that enqueue stores by.
func (s *service) store(ctx context.Context, c *httpapi.Call, source *webhook.Source,
	messages []cursor.Message) (int, any, error) {
	put := intake.Sent(messages, s.now())
	put.Single, put.Quotas, put.Log = !source.Splits(), s.quotas, s.log
	answers, err := put.Store(ctx, s.sorter, c.Metrics)
	if err != nil {
		return 0, nil, err
	}
	results := make([]answer, len(answers))
	for i, a := range answers {
		var wrong error
		results[i], wrong = s.answer(source, a)
		// What may pass has the sender repeat all: that comes first.
		if wrong != nil && (err == nil || !httpapi.ProblemOf(ctx, c.Scope, err).MayPass()) {
			err = wrong
		}
	}
	if put.Single || err != nil {
		return results[0].Status, results[0], err
	}
	return http.StatusOK, struct {
		Status  int      `json:"status"`
		Results []answer `json:"results"`
	}{http.StatusOK, results}, nil
}

// answer is what became of one message, and the problem where it was not stored.
func (s *service) answer(source *webhook.Source, a intake.Answer) (answer, error) {
	if !source.Numbered() && a.Outcome == cursor.Conflict {
		// The sender says by the id that it is the same delivery. Some change a detail of the body
		// from one attempt to the next, and would try for days.
		return answer{Status: http.StatusOK, Outcome: cursor.Duplicate,
			Queue: a.Queue, Detail: a.Detail}, nil
	}
	err := a.Refused()
	if problem, ok := errors.AsType[*httpapi.Problem](err); ok {
		problem.More = map[string]any{"queue": a.Queue}
	}
	return answer{Status: a.Status, Outcome: a.Outcome, Queue: a.Queue, ClockAhead: a.ClockAhead}, err
}
