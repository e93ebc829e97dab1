package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, json.RawMessage) (json.RawMessage, error)

// service answers requests.
type service struct {
	sorter *cursor.Sorter
	now    func() time.Time
	// paths are those of raw events' fields, where the stack names them.
	paths paths
	// tenantClaim is the claim that holds a caller's tenant, where there are any.
	tenantClaim string
}

// fromEnvironment makes the handler of the environment's tables. Metrics go to
// out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	sorter, err := s.NewSorter()
	if err != nil {
		return nil, err
	}
	return (&service{
		sorter: sorter, now: time.Now, paths: paths{s.QueueProp, s.SeqProp, s.IDProp}, tenantClaim: s.TenantClaim,
	}).api(settings.NewEmitter(out)).Handle, nil
}

// call is one request with what it takes to answer it.
type call struct {
	*service
	*httpapi.Call
}

// operation answers a call: with a status and a document, or with a problem.
type operation func(context.Context, *call) (int, any, error)

// margins is how long before the function's time is over it stops: so that each
// message of a call is answered for, also those that there was no time for.
const margins = time.Second

// on makes the operation one of the function's.
func (s *service) on(do operation) httpapi.Operation {
	return func(ctx context.Context, c *httpapi.Call) (int, any, error) {
		ctx, cancel := margin.Keep(ctx, margins)
		defer cancel()
		return do(ctx, &call{s, c})
	}
}

// api are the function's operations.
func (s *service) api(emitter *emf.Emitter) *httpapi.API {
	return &httpapi.API{
		Routes: map[string]map[string]httpapi.Operation{
			"messages": {http.MethodPost: s.on(putMessages), http.MethodGet: s.on(readMessages)},
			"queues":   {http.MethodGet: s.on(queueStatus), http.MethodPut: s.on(configureQueue)},
			"gaps":     {http.MethodGet: s.on(queueGaps)},
		},
		Direct: func(c *httpapi.Call) (httpapi.Operation, error) {
			do, err := (&call{s, c}).routeDirect()
			return s.on(do), err
		},
		TenantClaim: s.tenantClaim,
		Emitter:     emitter,
	}
}

// directOperations are the values of a direct invoke's member "operation".
var directOperations = map[string]operation{
	"put": putMessages, "read": readMessages, "status": queueStatus, "gaps": queueGaps, "configure": configureQueue,
}

// routeDirect takes the member "operation" out of a direct invoke's document.
// A document without it is a put. Where the stack names the fields of raw
// events, a document is an event unless it names one of the other operations
// and a queue.
func (c *call) routeDirect() (operation, error) {
	members, err := strictjson.Members(c.Body)
	if err != nil {
		if c.paths.queue != "" && strictjson.IsArray(c.Body) {
			return putMessages, nil
		}
		return nil, invalid.Named("event", err)
	}
	value, rest := strictjson.Take(members, "operation")
	hasQueue := slices.ContainsFunc(rest, func(m strictjson.Member) bool { return m.Name == "queue" })
	name := ""
	if value != nil {
		if name, err = strictjson.Text(value); err != nil && c.paths.queue == "" {
			return nil, invalid.Named("operation", err)
		}
	}
	do := directOperations[name]
	switch {
	case c.paths.queue != "" && (do == nil || name == "put" || !hasQueue):
		return putMessages, nil
	case name == "":
		return putMessages, nil
	case do == nil:
		return nil, invalid.New(invalid.Unknown, "operation", "must be put, read, status, gaps or configure")
	}
	if name == "put" || name == "configure" {
		return do, c.SetBody(rest)
	}
	return do, c.SetQuery(rest)
}
