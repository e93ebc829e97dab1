// Command ack is the function that tracks trees of work: it takes operations on chains, behind an
// HTTP API, a REST API or a function URL, or invoked directly; and behind the stream of the chains'
// table it announces how each chain ended.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	acker := d.Acker()
	deliverer := d.Deliverer(delivery.Options{Acker: acker})
	announce, quotas := d.Ends(deliverer, d.Announcer()), d.Quotas()
	if err := d.Err(); err != nil {
		return nil, err
	}
	s := &service{
		acker: acker, stamper: stamps.New(acker), trouble: d.Trouble(), announce: announce,
		now: time.Now, tenantClaim: d.TenantClaim, quotas: quotas, log: d.Log,
	}
	return runtime.Handle(d, runtime.Headroom, s.handler()), nil
}

// service answers requests, and handles the ends of chains, by what package runtime has of its
// environment.
type service struct {
	acker       *xorack.Acker
	stamper     *stamps.Stamper
	trouble     *trouble.Store
	announce    xorack.Announce
	now         func() time.Time
	tenantClaim string
	quotas      *quota.Keeper
	log         calllog.Log
}

// handler dispatches an event: a batch of stream records, or a request.
func (s *service) handler() func(context.Context, *emf.Metrics,
	json.RawMessage) (json.RawMessage, error) {
	api := s.api()
	return func(ctx context.Context, metrics *emf.Metrics,
		raw json.RawMessage) (json.RawMessage, error) {
		if !runtime.IsBatch(raw, "aws:dynamodb") {
			return api.Handle(ctx, metrics, raw)
		}
		var event table.StreamEvent
		if err := json.Unmarshal(raw, &event); err != nil {
			return nil, err
		}
		return s.ends(ctx, metrics, event)
	}
}

// ends finishes the chains that a batch of records shows as ended.
func (s *service) ends(ctx context.Context, metrics *emf.Metrics,
	event table.StreamEvent) (json.RawMessage, error) {
	metrics.Count("StreamRecords", len(event.Records))
	response, err := xorack.OnEnds(s.acker, s.announce, &xorack.OnEndsOptions{
		Finished: func(c xorack.Chain) {
			metrics.Count(metricOf[c.End()], 1)
			if c.IsCreated() {
				metrics.Add("ChainAge", emf.Seconds, c.Age(s.now()).Seconds())
			}
		},
		Failed: func(err error) {
			metrics.Count("Errors", 1)
			slog.ErrorContext(ctx, "a chain's end was not handled", "error", err)
		},
	})(ctx, event)
	if err != nil {
		return nil, err
	}
	return json.Marshal(response)
}

// metricOf is the counter of each end. A chain of stamps whose image does not say yet that it is
// done has none in it: it is.
var metricOf = map[xorack.End]string{
	xorack.Open:     "ChainsDone",
	xorack.Done:     "ChainsDone",
	xorack.Failed:   "ChainsFailed",
	xorack.TimedOut: "ChainsTimedOut",
	xorack.Deleted:  "ChainsDeleted",
}

func (s *service) api() *httpapi.API {
	return &httpapi.API{
		Routes: []httpapi.Route{
			{Method: http.MethodPost, Resource: "acks", Do: s.operate},
			{Method: http.MethodGet, Resource: "chains", Do: s.get},
		},
		// A direct invoke's document is that of POST /acks.
		Direct:      func(*httpapi.Call) (httpapi.Operation, error) { return s.operate, nil },
		TenantClaim: s.tenantClaim,
		Log:         s.log,
	}
}

// get shows a chain, or lists those in a state.
func (s *service) get(ctx context.Context, c *httpapi.Call) (int, any, error) {
	if !c.Query.Has("tag") {
		return s.list(ctx, c)
	}
	var asked struct {
		Tag string `json:"tag"`
	}
	if err := cmp.Or(lists.Chains.Check(c), c.Parameters(&asked)); err != nil {
		return 0, nil, err
	}
	tag, err := c.Full("tag", asked.Tag)
	if err != nil {
		return 0, nil, err
	}
	return s.do(ctx, c, order{Operation: "get", Tag: tag}).document()
}

func (s *service) operate(ctx context.Context, c *httpapi.Call) (int, any, error) {
	if err := c.Parameters(&struct{}{}); err != nil {
		return 0, nil, err
	}
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return 0, nil, invalid.Named(httpapi.RequestBody, err)
	}
	batch, rest := strictjson.Take(members, "operations")
	if batch != nil && len(rest) > 0 {
		return 0, nil, invalid.New(invalid.Clash, rest[0].Name, "must not stand beside operations")
	}
	orders := make([]order, 1)
	if batch != nil {
		orders, err = readOrders(c.Scope, members)
	} else if err = strictjson.DecodeMembers(members, &orders[0]); err == nil {
		err = orders[0].name(c.Scope)
	}
	if err == nil {
		err = s.takeChains(ctx, c, orders)
	}
	if err != nil {
		return 0, nil, err
	}
	if batch == nil {
		return s.do(ctx, c, orders[0]).document()
	}
	results := s.doAll(ctx, c, orders)
	for _, r := range results {
		if r.Status >= http.StatusBadRequest {
			c.Refused++
		}
	}
	return http.StatusOK, struct {
		Status  int      `json:"status"`
		Results []result `json:"results"`
	}{http.StatusOK, results}, nil
}

// takeChains takes the chains that the orders create from the tenant's quotas. One that is created
// again counts again.
func (s *service) takeChains(ctx context.Context, c *httpapi.Call, orders []order) error {
	var created int64
	for _, o := range orders {
		if o.Operation == "create" {
			created++
		}
	}
	return s.quotas.Take(ctx, c.Metrics, c.Tenant(), quota.Amounts{quota.NewChains: created})
}
