// Command delivery is the function that shows consumers and carries out their operators' orders,
// behind an HTTP API, a REST API or a function URL, or invoked directly.
package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	rules, err := egress.FromEnvironment()
	d.Check(err)
	s := &service{
		deliverer: d.Deliverer(delivery.Options{}), sorter: d.Sorter(), trouble: d.Trouble(),
		now:         time.Now,
		tenantClaim: d.TenantClaim, quotas: d.Quotas(), log: d.Log,
		endpoints: endpoint.NewStore(dynamo.NewEngine(d.Client), d.Consumers.Tables(), time.Now),
		rules:     rules,
		hooks: append(strings.FieldsFunc(os.Getenv(endpoint.ConsumersVariable), func(c rune) bool {
			return c == ','
		}), d.Endpoints...),
	}
	return runtime.Handle(d, runtime.Headroom, s.api().Handle), nil
}

type service struct {
	deliverer   *delivery.Deliverer
	sorter      *cursor.Sorter
	trouble     *trouble.Store
	now         func() time.Time
	tenantClaim string
	quotas      *quota.Keeper
	log         calllog.Log
	// endpoints are those of webhooks that go out, rules what those of no tenant may ask.
	endpoints *endpoint.Store
	rules     egress.Rules
	// hooks are the consumers that endpoints are for; none where they are not known.
	hooks []string
}

// api are the function's operations. A direct invoke's document that has the member "action", and
// names no operation, is of "operate".
func (s *service) api() *httpapi.API {
	const get, post, put, patch, remove = http.MethodGet, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete
	summary := func(ctx context.Context, c *httpapi.Call) (int, any, error) {
		return lists.Summarize(ctx, c, s.trouble, s.now())
	}
	routes := []httpapi.Route{
		{Method: get, Resource: "consumers", Name: "status", Do: s.consumers},
		{Method: get, Name: "consumers", Do: s.list},
		{Method: get, Resource: "summary", Name: "summary", Do: summary},
		{Method: post, Resource: "consumers", Name: "create", Do: s.create},
		{Method: get, Resource: "operations", Name: "operations", Do: s.audit},
		{Method: post, Resource: "operations", Name: "operate", Do: s.operate},
		{Method: get, Resource: "endpoints", Name: "endpoints", Do: s.listEndpoints},
		{Method: put, Resource: "endpoints", Name: "putEndpoint", Do: s.putEndpoint},
		{Method: remove, Resource: "endpoints", Name: "deleteEndpoint", Do: s.deleteEndpoint},
		{Method: remove, Resource: "queues", Name: "erase", Do: s.erase},
		{Method: get, Resource: "claims", Name: "list", Do: s.listReady},
		{Method: post, Resource: "claims", Name: "claim", Do: s.claim},
		{Method: patch, Resource: "claims", Name: "onClaim", Do: s.onClaim},
	}
	unnamed := func(members []strictjson.Member) string {
		if strictjson.Get(members, "action") != nil {
			return "operate"
		}
		return ""
	}
	return &httpapi.API{
		Routes: routes, Direct: httpapi.Direct(routes, unnamed), Problem: problemOf,
		TenantClaim: s.tenantClaim, Log: s.log,
	}
}

// age is never negative: another machine's clock may be ahead.
func (s *service) age(since time.Time) float64 { return max(s.now().Sub(since).Seconds(), 0) }
