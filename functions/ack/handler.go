package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, json.RawMessage) (json.RawMessage, error)

// service answers requests, and handles the ends of chains.
type service struct {
	acker   *xorack.Acker
	stamper *stamps.Stamper
	// trouble has the chains that failed or timed out, nil where that is not noted.
	trouble  *trouble.Store
	names    xorack.Names
	announce xorack.Announce
	emitter  *emf.Emitter
	now      func() time.Time
	// tenantClaim is the claim that holds a caller's tenant, where there are any.
	tenantClaim string
	// quotas are the tenants', nil where there are none.
	quotas *quota.Keeper
	// log says what is logged of calls that go well.
	log calllog.Log
	// after is called behind each request.
	after func(context.Context, *emf.Metrics)
}

// fromEnvironment makes the handler of the environment's tables: the chains',
// and those of the deliveries that chains end. Metrics go to out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	a, err := settings.AcksFromEnvironment()
	if err != nil {
		return nil, err
	}
	client, err := dynamo.New(nil)
	if err != nil {
		return nil, err
	}
	acker, err := a.NewAcker(client, s.Timer)
	if err != nil {
		return nil, err
	}
	deliverer, _, err := s.NewDeliverer(client, acker, nil)
	if err != nil {
		return nil, err
	}
	announcer, err := announce.New(a.EventBus, a.AnnounceTopic, a.AnnounceFunction)
	if err != nil {
		return nil, err
	}
	quotas, err := settings.NewQuotas(client)
	if err != nil {
		return nil, err
	}
	rows := s.Trouble(client)
	return (&service{
		acker: acker, stamper: stamps.New(acker), trouble: rows, names: a.Names,
		announce: announce.Batches(deliverer.Ender(announce.Listed(rows, a.Tombstone, announcer.Chain))),
		emitter:  settings.NewEmitter(out), now: time.Now, tenantClaim: a.TenantClaim, quotas: quotas, log: s.Log, after: s.SendWakeUps,
	}).handle, nil
}

// margins is how long before the function's deadline it stops, so that what it has done is
// answered for.
const margins = time.Second

// handle dispatches an event: a batch of stream records, or a request.
func (s *service) handle(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := margin.Keep(ctx, margins)
	defer cancel()
	if event, ok := streamEvent(raw); ok {
		return s.ends(ctx, event)
	}
	return s.api().Handle(ctx, raw)
}

// streamEvent reads a batch of a DynamoDB stream's records; false for any other
// event.
func streamEvent(raw json.RawMessage) (table.StreamEvent, bool) {
	var sources struct {
		Records []struct {
			EventSource string `json:"eventSource"`
		}
	}
	if err := json.Unmarshal(raw, &sources); err != nil || len(sources.Records) == 0 {
		return table.StreamEvent{}, false
	}
	for _, record := range sources.Records {
		if record.EventSource != "aws:dynamodb" {
			return table.StreamEvent{}, false
		}
	}
	var event table.StreamEvent
	err := json.Unmarshal(raw, &event)
	return event, err == nil
}

// ends finishes the chains that a batch of records shows as ended.
func (s *service) ends(ctx context.Context, event table.StreamEvent) (json.RawMessage, error) {
	metrics := s.emitter.Begin()
	defer metrics.Flush()
	metrics.Count("StreamRecords", len(event.Records))
	response, err := xorack.OnEnds(s.acker, s.names, s.announce, &xorack.OnEndsOptions{
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

// metricOf is the counter of each end. A chain of stamps whose image does not
// say yet that it is done has none in it: it is.
var metricOf = map[xorack.End]string{
	xorack.Open:     "ChainsDone",
	xorack.Done:     "ChainsDone",
	xorack.Failed:   "ChainsFailed",
	xorack.TimedOut: "ChainsTimedOut",
	xorack.Deleted:  "ChainsDeleted",
}

// api are the function's operations.
func (s *service) api() *httpapi.API {
	return &httpapi.API{
		Routes: map[string]map[string]httpapi.Operation{
			"acks":   {http.MethodPost: s.operate},
			"chains": {http.MethodGet: s.get},
		},
		// A direct invoke's document is that of POST /acks.
		Direct:      func(*httpapi.Call) (httpapi.Operation, error) { return s.operate, nil },
		TenantClaim: s.tenantClaim,
		After:       s.after,
		Log:         s.log,
		Emitter:     s.emitter,
	}
}

// get shows a chain, or lists those in a state.
func (s *service) get(ctx context.Context, c *httpapi.Call) (int, any, error) {
	if c.Query.Has("state") {
		return s.list(ctx, c)
	}
	var asked struct {
		Tag string `json:"tag"`
	}
	if err := c.Parameters(&asked); err != nil {
		return 0, nil, err
	}
	tag, err := c.Full("tag", asked.Tag)
	if err != nil {
		return 0, nil, err
	}
	return s.do(ctx, c, order{Operation: "get", Tag: tag}).document()
}

// operate does one operation, or a batch of them.
func (s *service) operate(ctx context.Context, c *httpapi.Call) (int, any, error) {
	if err := c.Parameters(&struct{}{}); err != nil {
		return 0, nil, err
	}
	members, err := strictjson.Members(c.Body)
	if err != nil {
		return 0, nil, invalid.Named(httpapi.RequestBody, err)
	}
	batch, rest := strictjson.Take(members, "operations")
	if batch == nil {
		var o order
		err := strictjson.DecodeMembers(members, &o)
		if err == nil {
			err = o.name(c.Scope)
		}
		if err != nil {
			return 0, nil, err
		}
		if err := s.takeChains(ctx, c, o); err != nil {
			return 0, nil, err
		}
		return s.do(ctx, c, o).document()
	}
	if len(rest) > 0 {
		return 0, nil, invalid.New(invalid.Clash, rest[0].Name, "must not stand beside operations")
	}
	orders, err := readOrders(c.Scope, members)
	if err != nil {
		return 0, nil, err
	}
	if err := s.takeChains(ctx, c, orders...); err != nil {
		return 0, nil, err
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

// takeChains takes the chains that the orders create from the tenant's quotas. One that
// is created again counts again.
func (s *service) takeChains(ctx context.Context, c *httpapi.Call, orders ...order) error {
	var created int64
	for _, o := range orders {
		if o.Operation == "create" {
			created++
		}
	}
	return s.quotas.Take(ctx, c.Metrics, c.Tenant(), quota.Amounts{quota.NewChains: created})
}
