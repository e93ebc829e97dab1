// Command enqueue is the function that takes messages in and shows queues, behind an HTTP API, a
// REST API or a function URL, or invoked directly.
package main

import (
	"context"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	d.CountRates()
	s := &service{
		sorter: d.Sorter(), trouble: d.Trouble(), quotas: d.Quotas(), now: time.Now, events: d.Events,
		tenantClaim: d.TenantClaim, log: d.Log,
	}
	return runtime.Handle(d, runtime.Headroom, s.api().Handle), nil
}

type service struct {
	sorter      *cursor.Sorter
	trouble     *trouble.Store
	now         func() time.Time
	events      *mapping.Mapping
	tenantClaim string
	quotas      *quota.Keeper
	log         calllog.Log
}

type call struct {
	*service
	*httpapi.Call
}

// on makes what answers a call of ours an operation.
func (s *service) on(do func(context.Context, *call) (int, any, error)) httpapi.Operation {
	return func(ctx context.Context, c *httpapi.Call) (int, any, error) { return do(ctx, &call{s, c}) }
}

func (s *service) api() *httpapi.API {
	put := httpapi.Route{Method: http.MethodPost, Resource: "messages", Name: "put",
		Do: s.on(putMessages)}
	routes := []httpapi.Route{
		put,
		{Method: http.MethodGet, Resource: "messages", Name: "read", Do: s.on(readMessages)},
		{Method: http.MethodGet, Resource: "queues", Name: "status", Do: s.on(queueStatus)},
		{Method: http.MethodGet, Name: "queues", Do: s.on(listQueues)},
		{Method: http.MethodGet, Resource: "gaps", Name: "gaps", Do: s.on(queueGaps)},
		{Method: http.MethodPut, Resource: "queues", Name: "configure", Do: s.on(configureQueue)},
	}
	named := httpapi.Direct(routes, func([]strictjson.Member) string { return put.Name })
	return &httpapi.API{
		Routes:  routes,
		Aliases: map[string]httpapi.Operation{putAlias: put.Do},
		Doors:   map[string][]httpapi.Route{urlAlias: {put}},
		Direct: func(c *httpapi.Call) (httpapi.Operation, error) {
			if (&call{s, c}).isEvent() {
				return put.Do, nil
			}
			return named(c)
		},
		TenantClaim: s.tenantClaim,
		Log:         s.log,
	}
}

// putAlias is the function's alias that puts, and does nothing else.
const putAlias = "put"

// urlAlias is the function's alias behind its function URL, which puts as well.
const urlAlias = "url"

// isEvent reports whether a direct invoke's document is a raw event, or a list of them: where the
// stack names the fields of raw events, and the caller names no operation beside the document. An
// event's author must not choose what becomes of it, so nothing that it holds counts.
func (c *call) isEvent() bool {
	return c.Direct && c.Operation == "" && c.events != nil
}
