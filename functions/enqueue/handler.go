package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, json.RawMessage) (json.RawMessage, error)

// service answers requests.
type service struct {
	sorter *cursor.Sorter
	// trouble has who is in trouble, nil where that is not noted.
	trouble *trouble.Store
	now     func() time.Time
	// events is how raw events become messages, where the stack says that.
	events *mapping.Mapping
	// tenantClaim is the claim that holds a caller's tenant, where there are any.
	tenantClaim string
	// quotas are the tenants', nil where there are none.
	quotas *quota.Keeper
	// log says what is logged of calls that go well.
	log calllog.Log
	// after is called behind each request.
	after func(context.Context, *emf.Metrics)
}

// fromEnvironment makes the handler of the environment's tables. Metrics go to
// out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	client, err := dynamo.New(nil)
	if err != nil {
		return nil, err
	}
	sorter, err := s.NewSorter(client)
	if err != nil {
		return nil, err
	}
	quotas, err := settings.NewQuotas(client)
	if err != nil {
		return nil, err
	}
	return (&service{
		sorter: sorter, trouble: s.Trouble(client), quotas: quotas, now: time.Now, events: s.Events, tenantClaim: s.TenantClaim,
		log: s.Log, after: s.After(client),
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
		Aliases: map[string]httpapi.Operation{putAlias: s.on(putMessages)},
		Doors:   map[string]map[string]map[string]httpapi.Operation{urlAlias: {"messages": {http.MethodPost: s.on(putMessages)}}},
		Direct: func(c *httpapi.Call) (httpapi.Operation, error) {
			do, err := (&call{s, c}).routeDirect()
			return s.on(do), err
		},
		TenantClaim: s.tenantClaim,
		After:       s.after,
		Log:         s.log,
		Emitter:     emitter,
	}
}

// directOperations are the values of a direct invoke's member "operation".
var directOperations = map[string]operation{
	"put": putMessages, "read": readMessages, "status": queueStatus, "queues": listQueues, "gaps": queueGaps, "configure": configureQueue,
}

// putAlias is the function's alias that puts, and does nothing else.
const putAlias = "put"

// urlAlias is the function's alias behind its function URL, which puts as well.
const urlAlias = "url"

// isEvent reports whether a direct invoke's document is a raw event, or a list of
// them: where the stack names the fields of raw events, and the caller names no
// operation beside the document. An event's author must not choose what becomes of it,
// so nothing that it holds counts.
func (c *call) isEvent() bool {
	return c.Direct && c.Operation == "" && c.events != nil
}

// routeDirect finds the operation of a direct invoke: the one that its client
// context names, or the member "operation" of its document. One without it is a
// put, and so is a raw event.
func (c *call) routeDirect() (operation, error) {
	if c.isEvent() {
		return putMessages, nil
	}
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return nil, invalid.Named("event", err)
	}
	name := c.Operation
	if name == "" {
		var value json.RawMessage
		if value, members = strictjson.Take(members, "operation"); value == nil {
			return putMessages, nil
		}
		if name, err = strictjson.Text(value); err != nil {
			return nil, invalid.Named("operation", err)
		}
	}
	do := directOperations[name]
	if do == nil {
		return nil, invalid.New(invalid.Unknown, "operation", "must be put, read, status, queues, gaps or configure")
	}
	if name == "put" || name == "configure" {
		return do, c.SetBody(members)
	}
	return do, c.SetQuery(members)
}
