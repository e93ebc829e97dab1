package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

func (s *service) operate(ctx context.Context, c *httpapi.Call) (int, any, error) {
	o, err := readOrder(c)
	if err != nil {
		return 0, nil, err
	}
	if err := s.takeRewind(ctx, c, o); err != nil {
		return 0, nil, err
	}
	var after delivery.Consumer
	if o.Action == "restart-keys" {
		_, err = s.deliverer.Inside(request.Inside{}).RestartKeys(ctx, o.Order)
	} else {
		after, err = s.deliverer.Operate(ctx, o.Order)
	}
	if errors.Is(err, delivery.ErrNoConsumer) {
		if _, absent := s.sorter.Status(ctx, o.Queue); errors.Is(absent, cursor.ErrNoQueue) {
			err = absent
		}
	}
	if err != nil {
		return 0, nil, refused(ctx, c, o, after, err)
	}
	c.Metrics.Count("Operations", 1)
	document := operated{Status: http.StatusOK, ID: o.Order.Op, Action: o.Action,
		Queue: c.Short(o.Queue), Consumer: o.Consumer}
	if after.Exists() {
		document.consumerAnswer = s.after(ctx, c.Scope, after)
	}
	return http.StatusOK, document, nil
}

// refused says why an order was not carried out. The id makes a repeat safe, so the answer has it
// where we made it up.
func refused(ctx context.Context, c *httpapi.Call, o order, at delivery.Consumer, err error) error {
	wrong, ok := errors.AsType[*invalid.Error](err)
	if ok && wrong.Field == "seq" && wrong.Code == invalid.Clash {
		// The request is fine: it is the consumer that has moved on since.
		err = conflict("not-blocked", refusals["not-blocked"].title, fmt.Sprintf("the message at the consumer's head is %d, not %d: streamsort why says which failed", at.Delivered+1, int64(o.Seq)))
	}
	problem := withID(ctx, c, o.Order, err)
	if problem.Status == http.StatusServiceUnavailable {
		problem.Detail = "the tables are throttled or did not answer; repeating the request with this id is safe"
	}
	return problem
}

const (
	done    = "done"
	refusal = "refused"
	// open: it was asked for, and is under way, or its worker died. The same order again, with the
	// same id, finishes it.
	open = "open"
)

func newOperation(scope tenancy.Scope, a delivery.Operation) view.Operation {
	who := view.Who(a.Who)
	if scope.Tenant() != "" && who.Kind != "jwt" {
		who = view.Who{Kind: who.Kind} // no name of the account's, which is another's
	}
	r := view.Operation{
		At: a.At, ID: printable.Name(a.Op), Action: a.Kind, Consumer: a.Consumer,
		Reason: printable.Name(a.Reason), Request: a.Request, Who: who,
		Outcome: open, Error: printable.Name(scope.Words(a.Error)),
	}
	if a.ReplyQueue != "" {
		r.Reason += printable.Name(" " + toQueue(scope, a.ReplyQueue))
	}
	if a.Seq >= 0 {
		r.Seq = new(jsonseq.Seq(a.Seq))
	}
	switch {
	case a.Done:
		r.Outcome = done
	case a.Error != "":
		r.Outcome = refusal
	}
	return r
}

// audit lists what operators asked for, the latest first: a page of a queue, of which those of
// other consumers are left out where one is named.
func (s *service) audit(ctx context.Context, c *httpapi.Call) (int, any, error) {
	var asked struct {
		Queue    string `json:"queue"`
		Consumer string `json:"consumer"`
		After    string `json:"after"`
	}
	if err := cmp.Or(c.Parameters(&asked, &asked.Queue), oneConsumer(&asked.Consumer)); err != nil {
		return 0, nil, err
	}
	page, next, err := s.deliverer.Inside(request.Inside{}).Audit(ctx, asked.Queue, asked.After)
	unreadable := ""
	if errors.Is(err, delivery.ErrUnreadable) {
		unreadable = err.Error()
	} else if err != nil {
		return 0, nil, err
	}
	list := []view.Operation{}
	for _, a := range page {
		if asked.Consumer == "" || a.Consumer == asked.Consumer {
			list = append(list, newOperation(c.Scope, a))
		}
	}
	return http.StatusOK, struct {
		Status     int              `json:"status"`
		Queue      string           `json:"queue"`
		Operations []view.Operation `json:"operations"`
		Unreadable string           `json:"unreadable,omitempty"`
		Next       string           `json:"next,omitempty"`
	}{http.StatusOK, c.Short(asked.Queue), list, unreadable, next}, nil
}

type order struct {
	Order    delivery.Order
	Action   string         `json:"action" required:"true" one:"skip redrive rewind pause resume settle release remove restart-keys"`
	Queue    string         `json:"queue"`
	Consumer string         `json:"consumer"`
	Reason   string         `json:"reason"`
	ID       string         `json:"id" bounds:"1.."`
	Seq      jsonseq.Asked  `json:"seq"`
	Start    delivery.Start `json:"start"`
	// Token is the claim in quarantine, Outcome how it ended.
	Token   token                 `json:"token"`
	Outcome delivery.TokenOutcome `json:"outcome"`
	Given   strictjson.Given
}

// places are which member says where, of the operations that have one; a settle has its outcome,
// too.
var places = map[string]string{"skip": "seq", "redrive": "seq", "rewind": "start",
	"settle": "token", "release": "token"}

func readOrder(c *httpapi.Call) (order, error) {
	var o order
	if err := c.Read(&o, &o.Queue); err != nil {
		return o, err
	}
	for _, place := range []string{"seq", "start", "token", "outcome"} {
		has := place == places[o.Action] || place == "outcome" && o.Action == "settle"
		switch {
		case has && !o.Given[place]:
			return o, invalid.New(invalid.Missing, place, "is missing")
		case !has && o.Given[place]:
			return o, invalid.New(invalid.Misplaced, place, "is not a field of "+o.Action)
		}
	}
	o.Order = delivery.Order{
		Kind: o.Action, Queue: o.Queue, Consumer: o.Consumer, Reason: o.Reason,
		Who: delivery.Who(c.Identity()),
		Seq: int64(o.Seq), Start: o.Start, Token: o.Token.Token, Outcome: o.Outcome,
		Op: cmp.Or(o.ID, strings.ToLower(rand.Text())),
	}
	return o, nil
}

// endpointMessages is as how many messages a change of an endpoint counts, also one that is
// refused: looking how many endpoints a tenant has costs about as much.
const endpointMessages = 10

// takeMessages takes from a tenant's quota what an operation costs, as messages, before it costs
// that: no more than a window has.
func (s *service) takeMessages(ctx context.Context, c *httpapi.Call, n int64) error {
	need := s.quotas.Within(c.Tenant(), quota.Amounts{quota.Messages: n})
	return s.quotas.Take(ctx, c.Metrics, c.Tenant(), need)
}

// takeRewind takes what a rewind costs: each message from the new place on is looked at, and kept
// from expiring. One read unit where the tenant has a quota.
func (s *service) takeRewind(ctx context.Context, c *httpapi.Call, o order) error {
	if o.Action != "rewind" || !s.quotas.Bounds(c.Tenant(), quota.Messages) {
		return nil
	}
	cur, err := s.sorter.Status(ctx, o.Queue)
	if err != nil {
		return nil //nolint:nilerr // the rewind itself says what is wrong
	}
	n := cur.Position
	switch start := o.Start.String(); start {
	case "first":
	case "latest":
		n = 0
	default:
		from, _ := strconv.ParseInt(start, 10, 64) // it was read
		n -= from - 1
	}
	return s.takeMessages(ctx, c, max(n, 1))
}

// problemOf says what an error of a Deliverer is to the caller, nil for one that others have too.
func problemOf(err error) *httpapi.Problem {
	var refused *delivery.RefusedError
	switch {
	case errors.Is(err, delivery.ErrNoConsumer):
		return httpapi.NewProblem(http.StatusNotFound, "no-consumer", "There is no such consumer",
			"the queue has no consumer of this name: POST /consumers creates it", "queue", "consumer")
	case errors.Is(err, endpoint.ErrNone):
		return httpapi.NewProblem(http.StatusNotFound, "no-endpoint", "There is no such endpoint",
			"the consumer has no endpoint for this queue, or prefix", "queue", "prefix", "consumer")
	case errors.Is(err, endpoint.ErrOutran):
		return conflict("outran", "The endpoint was changed at the same moment",
			"look at it, and decide again")
	case !errors.As(err, &refused) || refusals[refused.Code].title == "":
		return nil
	}
	of := refusals[refused.Code]
	if refused.Code == "claimed" {
		of.detail = fmt.Sprintf(
			"the claim ends at %s at the latest; pause the consumer and wait for its end",
			refused.Until.Format(time.RFC3339))
	}
	return conflict(refused.Code, of.title, cmp.Or(of.detail, err.Error()))
}

// refusals are the codes of a [delivery.RefusedError] that are the caller's. Without a detail the
// error says it.
var refusals = map[string]struct{ title, detail string }{
	"not-blocked":     {"The consumer does not fail on this message", ""},
	"claimed":         {"The consumer has a claim in flight", ""},
	"quarantined":     {"The consumer has a claim in quarantine", "settle it, or release it, first"},
	"not-quarantined": {"The claim is not in quarantine", ""},
	"id-taken":        {"The id is that of another operation", "the queue has another operation of this id, or this one with something else asked for; nothing was done"},
	"outran":          {"The consumer was changed at the same moment", "look at it, and decide again"},
}

func conflict(kind, title, detail string) *httpapi.Problem {
	return httpapi.NewProblem(http.StatusConflict, kind, title, detail)
}
