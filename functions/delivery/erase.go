package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// erasedAnswer is how far the erasing of a queue is, as callers see it.
type erasedAnswer struct {
	Status int    `json:"status,omitempty"`
	ID     string `json:"id,omitempty"`
	Queue  string `json:"queue"`
	State  string `json:"state"`
	// Since is when it was asked for first, Last the position that the queue had.
	Since *time.Time  `json:"since,omitempty"`
	Last  jsonseq.Seq `json:"last"`
	// Until is when it is looked once more whether anything is stored, Emptied when that found
	// nothing.
	Until   *time.Time `json:"until,omitempty"`
	Emptied *time.Time `json:"emptied,omitempty"`
	// Deleted is what this call deleted.
	Deleted *remainsAnswer `json:"deleted,omitempty"`
}

type remainsAnswer struct {
	Messages int `json:"messages"`
	Arrivals int `json:"arrivals"`
}

const (
	live = "live"

	// erasing: something is left that was stored before.
	erasing = "erasing"
	// settling: nothing is left, and who is late may store something still.
	settling = "settling"
	erased   = "erased"
)

func (s *service) erasedAnswer(c *httpapi.Call, it cursor.Cursor, more bool) erasedAnswer {
	e := it.Erasure
	a := erasedAnswer{Queue: c.Short(it.Queue), State: settling, Since: &e.At,
		Last: jsonseq.Seq(e.Last)}
	switch {
	case !e.Emptied.IsZero():
		a.State, a.Emptied = erased, &e.Emptied
		return a
	case more:
		a.State = erasing
	}
	until := e.At.Add(cursor.EraseGrace)
	a.Until = &until
	return a
}

// erase erases a queue, or all queues of a tenant; or shows what there is.
func (s *service) erase(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var asked struct {
		Queue  string `json:"queue"`
		Reason string `json:"reason"`
		ID     string `json:"id"`
		DryRun bool   `json:"dryRun"`
		// Tenant, and After, which belongs to it, are for operators.
		Tenant string `json:"tenant"`
		After  string `json:"after"`
		Given  strictjson.Given
	}
	if err := c.Parameters(&asked, &asked.Queue); err != nil {
		return 0, nil, err
	}
	for _, name := range []string{"tenant", "after"} {
		if c.Tenant() != "" && asked.Given[name] {
			return 0, nil, invalid.New(invalid.Unknown, name,
				"is not known: there are queue, reason, id and dryRun")
		}
	}
	o := delivery.Order{
		Queue: asked.Queue, Reason: asked.Reason, Who: delivery.Who(c.Identity()),
		Op: cmp.Or(asked.ID, strings.ToLower(rand.Text())),
	}
	switch {
	case asked.Tenant != "" && o.Queue != "":
		return 0, nil, invalid.New(invalid.Clash, "tenant", "must not stand beside queue")
	case asked.Tenant != "":
		return s.eraseTenant(ctx, c, o, asked.Tenant, asked.After, asked.DryRun)
	case asked.After != "":
		return 0, nil, invalid.New(invalid.Misplaced, "after", "belongs to tenant")
	case asked.DryRun:
		return s.erasable(ctx, c, o.Queue)
	}
	it, err := s.deliverer.Inside(request.Inside{}).Erase(ctx, o)
	if err != nil {
		return 0, nil, withID(ctx, c, o, err)
	}
	c.Metrics.Count("Operations", 1)
	stub, deleted, err := s.deliverer.Inside(request.Inside{}).EraseMore(ctx, it,
		s.endpoints.EraseQueue)
	refused, ok := errors.AsType[*delivery.RefusedError](err)
	if err != nil && (!ok || refused.Code != "full") { // the sweep goes on when there is room
		return 0, nil, withID(ctx, c, o, err)
	}
	a := s.erasedAnswer(c, stub, deleted.More)
	a.Status, a.ID = http.StatusAccepted, o.Op
	if a.State == erased {
		a.Status = http.StatusOK
	}
	a.Deleted = &remainsAnswer{deleted.Messages, deleted.Arrivals}
	return a.Status, a, nil
}

// withID is an error's answer with the id under which repeating the order is safe.
func withID(ctx context.Context, c *httpapi.Call, o delivery.Order, err error) *httpapi.Problem {
	problem := problemOf(err)
	if problem == nil {
		problem = httpapi.ProblemOf(ctx, c.Scope, err)
	}
	if problem.Status != http.StatusBadRequest {
		problem.More = map[string]any{"id": o.Op}
	}
	return problem
}

type erasableConsumer struct {
	Consumer  string      `json:"consumer"`
	State     view.State  `json:"state"`
	Delivered jsonseq.Seq `json:"delivered"`
	Lag       jsonseq.Seq `json:"lag"`
}

// erasable shows what would be erased with a queue.
func (s *service) erasable(ctx context.Context, c *httpapi.Call, queue string) (int, any, error) {
	stored, list, err := s.deliverer.Inside(request.Inside{}).Erasable(ctx, queue)
	if err != nil {
		return 0, nil, err
	}
	consumers := []erasableConsumer{}
	for _, it := range list {
		consumers = append(consumers,
			erasableConsumer{it.Name, s.head(c.Scope, it, known{}).State,
				jsonseq.Seq(it.Delivered), jsonseq.Seq(it.Lag())})
	}
	return http.StatusOK, struct {
		Status    int                `json:"status"`
		Queue     string             `json:"queue"`
		Stored    remainsAnswer      `json:"stored"`
		More      bool               `json:"more"`
		Consumers []erasableConsumer `json:"consumers"`
	}{http.StatusOK, c.Short(queue), remainsAnswer{stored.Messages, stored.Arrivals}, stored.More,
		consumers}, nil
}

const erasePage = 1000

// eraseTenant erases the queues of a tenant, as many as there is time for, and behind the last its
// endpoints: what is stored in the queues is the sweep's. The queues are looked through behind
// after.
func (s *service) eraseTenant(ctx context.Context, c *httpapi.Call, o delivery.Order,
	name, after string, dry bool) (int, any, error) {
	if err := tenant.Validate(name); err != nil {
		return 0, nil, invalid.Named("tenant", err)
	}
	if o.Reason == "" && !dry { // a tenant without queues may have endpoints
		return 0, nil, invalid.New(invalid.Missing, "reason", "is missing: it is kept")
	}
	document := struct {
		Status int            `json:"status"`
		ID     string         `json:"id"`
		Tenant string         `json:"tenant"`
		Queues []erasedAnswer `json:"queues"`
		// Endpoints are how many were deleted behind the last queue, or would be.
		Endpoints int    `json:"endpoints,omitempty"`
		Next      string `json:"next,omitempty"`
	}{Status: http.StatusOK, ID: o.Op, Tenant: name, Queues: []erasedAnswer{}, Next: after}
	for goOn := margin.Half(ctx); ; {
		page, err := s.sorter.Queues(ctx, document.Next, erasePage)
		if err != nil {
			return 0, nil, withID(ctx, c, o, err)
		}
		for _, it := range page.Cursors {
			if of, _ := tenant.Split(it.Queue); of != name {
				continue
			}
			a, err := s.eraseOne(ctx, c, o, it, dry)
			if err != nil {
				return 0, nil, withID(ctx, c, o, err)
			}
			document.Queues, document.Next = append(document.Queues, a), it.Queue
			if !goOn() {
				return http.StatusOK, document, nil
			}
		}
		for _, it := range page.Unreadable {
			if of, _ := tenant.Split(it.Queue); of == name {
				return 0, nil, withID(ctx, c, o, it) // no caller learns that all are erased
			}
		}
		if document.Next = page.Next; page.Next == "" {
			// Behind the queues: one that is left would wait for an endpoint.
			if document.Endpoints, err = s.eraseEndpoints(ctx, o, name, dry); err != nil {
				return 0, nil, withID(ctx, c, o, err)
			}
			return http.StatusOK, document, nil
		}
		if !goOn() {
			return http.StatusOK, document, nil
		}
	}
}

func (s *service) eraseEndpoints(ctx context.Context, o delivery.Order, tenant string,
	dry bool) (n int, err error) {
	if !dry {
		return s.endpoints.EraseTenant(ctx, tenant, o.Reason, o.Who)
	}
	for after := ""; ; {
		page, next, err := s.endpoints.List(ctx, tenant, "", after, erasePage)
		if n, after = n+len(page), next; err != nil || next == "" {
			return n, err
		}
	}
}

func (s *service) eraseOne(ctx context.Context, c *httpapi.Call, o delivery.Order, it cursor.Cursor,
	dry bool) (erasedAnswer, error) {
	if !it.Erased() && dry {
		return erasedAnswer{Queue: c.Short(it.Queue), State: live, Last: jsonseq.Seq(it.Position)}, nil
	}
	if !it.Erased() {
		o.Queue = it.Queue
		var err error
		if it, err = s.deliverer.Inside(request.Inside{}).Erase(ctx, o); err != nil {
			return erasedAnswer{}, err
		}
		c.Metrics.Count("Operations", 1)
	}
	return s.erasedAnswer(c, it, true), nil
}
