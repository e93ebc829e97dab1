package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/request"
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
		err = notBlocked(fmt.Sprintf("the message at the consumer's head is %d, not %d: streamsort why says which failed", at.Delivered+1, int64(o.Seq)))
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
