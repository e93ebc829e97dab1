package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, json.RawMessage) (json.RawMessage, error)

// service answers requests.
type service struct {
	deliverer *handoff.Deliverer
	sorter    *cursor.Sorter
	// trouble has who is in trouble, nil where that is not noted.
	trouble *trouble.Store
	now     func() time.Time
	// tenantClaim is the claim that holds a caller's tenant, where there are any.
	tenantClaim string
	// quotas are the tenants', nil where there are none.
	quotas *quota.Keeper
	// log says what is logged of calls that go well.
	log calllog.Log
	// after is called behind each request.
	after func(context.Context, *emf.Metrics)
	// endpoints are those of webhooks that go out, rules what those of no tenant may ask.
	endpoints *endpoint.Store
	rules     egress.Rules
	// hooks are the consumers that endpoints are for; none where they are not known.
	hooks []string
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
	deliverer, sorter, err := s.NewDeliverer(client, nil, nil)
	if err != nil {
		return nil, err
	}
	quotas, err := settings.NewQuotas(client)
	if err != nil {
		return nil, err
	}
	rules, err := egress.FromEnvironment()
	if err != nil {
		return nil, err
	}
	hooks := strings.FieldsFunc(os.Getenv(endpoint.ConsumersVariable), func(c rune) bool { return c == ',' })
	return (&service{deliverer, sorter, s.Trouble(client), time.Now, s.TenantClaim, quotas, s.Log, s.SendWakeUps, endpoint.NewStore(dynamo.NewEngine(client), s.Consumers.Tables(), time.Now), rules, hooks}).handler(settings.NewEmitter(out)), nil
}

// margins is how long before the function's deadline it stops, so that what it has done is
// answered for.
const margins = time.Second

// handler is the function on this service.
func (s *service) handler(emitter *emf.Emitter) handler {
	api := s.api(emitter)
	return func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		ctx, cancel := margin.Keep(ctx, margins)
		defer cancel()
		return api.Handle(ctx, raw)
	}
}

// api are the function's operations.
func (s *service) api(emitter *emf.Emitter) *httpapi.API {
	return &httpapi.API{
		Routes: map[string]map[string]httpapi.Operation{
			"summary":    {http.MethodGet: s.summary},
			"consumers":  {http.MethodGet: s.consumers, http.MethodPost: s.create},
			"operations": {http.MethodGet: s.audit, http.MethodPost: s.operate},
			"queues":     {http.MethodDelete: s.erase},
			"endpoints":  {http.MethodGet: s.listEndpoints, http.MethodPut: s.putEndpoint, http.MethodDelete: s.deleteEndpoint},
			"claims":     {http.MethodGet: s.listReady, http.MethodPost: s.claim, http.MethodPatch: s.onClaim},
		},
		Direct:      s.direct,
		Problem:     problemOf,
		TenantClaim: s.tenantClaim,
		After:       s.after,
		Log:         s.log,
		Emitter:     emitter,
	}
}

// direct takes the member "operation" out of a direct invoke's document. One
// without it that has the member "action" is an operation.
func (s *service) direct(c *httpapi.Call) (httpapi.Operation, error) {
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return nil, invalid.Named("event", err)
	}
	value, rest := strictjson.Take(members, "operation")
	name := ""
	if value != nil {
		if name, err = strictjson.Text(value); err != nil {
			return nil, invalid.Named("operation", err)
		}
	} else if action, _ := strictjson.Take(members, "action"); action != nil {
		name = "operate"
	}
	queries := map[string]httpapi.Operation{
		"status": s.consumers, "consumers": s.list, "summary": s.summary, "operations": s.audit,
		"endpoints": s.listEndpoints, "deleteEndpoint": s.deleteEndpoint, "erase": s.erase, "list": s.listReady,
	}
	if do := queries[name]; do != nil {
		return do, c.SetQuery(rest)
	}
	bodies := map[string]httpapi.Operation{
		"create": s.create, "operate": s.operate, "putEndpoint": s.putEndpoint,
		"claim": s.claim, "onClaim": s.onClaim,
	}
	if do := bodies[name]; do != nil {
		return do, c.SetBody(rest)
	}
	return nil, invalid.New(invalid.Unknown, "operation", "must be status, consumers, summary, create, operations, operate, endpoints, putEndpoint, deleteEndpoint, erase, list, claim or onClaim")
}

// age is never negative: another machine's clock may be ahead.
func (s *service) age(since time.Time) float64 { return max(s.now().Sub(since).Seconds(), 0) }
