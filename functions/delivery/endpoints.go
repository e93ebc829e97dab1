package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

func (s *service) shown(c *httpapi.Call, e endpoint.Endpoint) view.Endpoint {
	a := view.Endpoint{Consumer: e.Consumer, URL: e.URL, At: e.At}
	name := printable.Name(c.Short(e.Name))
	if e.Prefix {
		if full, err := lists.Prefix(c, ""); err == nil && len(full) <= len(e.Name) && c.Tenant() != "" {
			name = printable.Name(e.Name[len(full):])
		}
		a.Prefix = &name
	} else {
		a.Queue = name
	}
	if e.OldSecret != "" && s.now().Before(e.OldUntil) {
		a.OldSecretUntil = e.OldUntil
	}
	if e.Paused != "" {
		a.Paused = &view.Pause{Reason: printable.Name(e.Paused), Since: e.PausedSince}
	}
	return a
}

// place is for what an endpoint is that a caller names: queue or prefix is given, and the other is
// not.
func place(c *httpapi.Call, consumer string, queue, prefix *string) (endpoint.Place, error) {
	p := endpoint.Place{Consumer: consumer}
	var err error
	switch {
	case (queue == nil) == (prefix == nil):
		return p, invalid.New(invalid.Missing, "queue", "or prefix must be given, and only one of them")
	case queue != nil:
		p.Name, err = c.Full("queue", *queue)
	default:
		p.Prefix = true
		p.Name, err = lists.Prefix(c, *prefix)
	}
	if err != nil {
		return p, err
	}
	return p, p.Validate()
}

// putEndpoint makes an endpoint, or changes the one that is there, and wakes its queue up: what
// waited for it need not wait any more. Those of a prefix are woken up by the sweep.
func (s *service) putEndpoint(ctx context.Context, c *httpapi.Call) (int, any, error) {
	change, err := s.readEndpoint(c)
	if err == nil {
		err = s.takeMessages(ctx, c, endpointMessages)
	}
	if err == nil && !change.Prefix {
		// One of a queue that was erased would stay: the sweep looks for it once, when an hour is
		// over.
		if _, err = s.sorter.Status(ctx, change.Name); errors.Is(err, cursor.ErrNoQueue) {
			err = nil // it may be there before its queue
		}
	}
	if err != nil {
		return 0, nil, err
	}
	e, fresh, err := s.endpoints.Put(ctx, change)
	if err != nil {
		return 0, nil, err
	}
	c.Metrics.Count("EndpointsChanged", 1)
	if !change.Prefix {
		_ = s.sorter.Notify(ctx, change.Name) // else the sweep does
	}
	a := s.shown(c, e)
	a.Status = http.StatusOK
	if fresh {
		a.Secret = e.Secret
	}
	return http.StatusOK, a, nil
}

func (s *service) readEndpoint(c *httpapi.Call) (endpoint.Change, error) {
	var asked struct {
		Consumer string  `json:"consumer"`
		Queue    *string `json:"queue"`
		Prefix   *string `json:"prefix"`
		URL      string  `json:"url"`
		Paused   string  `json:"paused" bounds:"0..256"`
		Rotate   bool    `json:"rotate"`
	}
	if err := c.Read(&asked); err != nil {
		return endpoint.Change{}, err
	}
	change := endpoint.Change{URL: asked.URL, Paused: asked.Paused, Rotate: asked.Rotate,
		Who: delivery.Who(c.Identity())}
	var err error
	if change.Place, err = place(c, asked.Consumer, asked.Queue, asked.Prefix); err != nil {
		return change, err
	}
	if len(s.hooks) > 0 && !slices.Contains(s.hooks, asked.Consumer) {
		return change, invalid.New(invalid.Unknown, "consumer",
			"has no endpoints: "+strings.Join(s.hooks, ", ")+" may")
	}
	if change.URL == "" {
		return change, nil // it stays as it is
	}
	// the prefix of all of a tenant's queues is no queue's name
	of, _ := tenant.Split(change.Name + "x")
	return change, s.checkURL(of, change.URL)
}

// checkURL reports a URL that no request may go to for a tenant's queues, or for nobody's. The port
// is the consumer's to allow.
func (s *service) checkURL(of, text string) error {
	u, err := egress.ParseURL(text)
	if err != nil {
		return invalid.Named("url", invalid.New(invalid.Malformed, "", err.Error()))
	}
	rules := s.rules
	if rules.Ports = []int{egress.Port(u)}; of != "" {
		rules.Allow = nil
	}
	if err := rules.Check(u); err != nil {
		return invalid.New(invalid.OutOfRange, "url", "may not be asked: "+err.Error())
	}
	return nil
}

func (s *service) deleteEndpoint(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var asked struct {
		Consumer string  `json:"consumer"`
		Queue    *string `json:"queue"`
		Prefix   *string `json:"prefix"`
	}
	if err := c.Parameters(&asked); err != nil {
		return 0, nil, err
	}
	p, err := place(c, asked.Consumer, asked.Queue, asked.Prefix)
	if err == nil {
		err = s.takeMessages(ctx, c, endpointMessages)
	}
	if err == nil {
		err = s.endpoints.Delete(ctx, p, delivery.Who(c.Identity()))
	}
	if err != nil {
		return 0, nil, err
	}
	c.Metrics.Count("EndpointsChanged", 1)
	return http.StatusOK, struct {
		Status int `json:"status"`
	}{http.StatusOK}, nil
}

// listEndpoints lists the caller's endpoints: a tenant's own, or those of no tenant.
func (s *service) listEndpoints(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var asked struct {
		Consumer string `json:"consumer"`
		After    string `json:"after"`
		Limit    int    `json:"limit" bounds:"1..1000" default:"100"`
	}
	if err := cmp.Or(c.Parameters(&asked), oneConsumer(&asked.Consumer)); err != nil {
		return 0, nil, err
	}
	after, err := base64.RawURLEncoding.DecodeString(asked.After)
	if err != nil || !utf8.Valid(after) || len(after) > 0 && !endpoint.ValidAfter(string(after)) {
		return 0, nil, invalid.New(invalid.Malformed, "after",
			`must be the "next" of an earlier answer, to the same consumer`)
	}
	page, next, err := s.endpoints.List(ctx, c.Tenant(), asked.Consumer, string(after), asked.Limit)
	if err != nil {
		return 0, nil, err
	}
	list := make([]view.Endpoint, len(page))
	for i, e := range page {
		list[i] = s.shown(c, e)
	}
	return http.StatusOK, struct {
		Status    int             `json:"status"`
		Endpoints []view.Endpoint `json:"endpoints"`
		Next      string          `json:"next,omitempty"`
	}{http.StatusOK, list, base64.RawURLEncoding.EncodeToString([]byte(next))}, nil
}
