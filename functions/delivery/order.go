package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// order is what an operator asks for.
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

// kind is what an operation does, and which member says where; empty where none does.
type kind struct {
	place string
	do    func(context.Context, *delivery.Deliverer, order) (delivery.Consumer, error)
}

// kinds are the operations by their names.
var kinds = map[string]kind{
	"skip": {"seq", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.Skip(ctx, o.Order, int64(o.Seq))
	}},
	"redrive": {"seq", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.Redrive(ctx, o.Order, int64(o.Seq))
	}},
	"rewind": {"start", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.Rewind(ctx, o.Order, o.Start)
	}},
	"pause": {"", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.Pause(ctx, o.Order)
	}},
	"resume": {"", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.Resume(ctx, o.Order)
	}},
	"settle": {"token", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.SettleQuarantined(ctx, o.Order, o.Token.Token, o.Outcome)
	}},
	"release": {"token", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.Release(ctx, o.Order, o.Token.Token)
	}},
	"restart-keys": {"", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		_, err := d.RestartKeys(ctx, o.Order)
		return delivery.Consumer{}, err
	}},
	"remove": {"", func(ctx context.Context, d *delivery.Deliverer, o order) (delivery.Consumer, error) {
		return d.Remove(ctx, o.Order)
	}},
}

// readOrder reads the document of an operation.
func readOrder(c *httpapi.Call) (order, error) {
	var o order
	if err := c.Read(&o, &o.Queue); err != nil {
		return o, err
	}
	if o.Given["outcome"] && o.Action != "settle" {
		return o, invalid.New(invalid.Misplaced, "outcome", "is not a field of "+o.Action)
	}
	for _, place := range []string{"seq", "start", "token"} {
		if place == kinds[o.Action].place && !o.Given[place] {
			return o, invalid.New(invalid.Missing, place, "is missing")
		}
		if place != kinds[o.Action].place && o.Given[place] {
			return o, invalid.New(invalid.Misplaced, place, "is not a field of "+o.Action)
		}
	}
	o.Order = delivery.Order{
		Queue: o.Queue, Consumer: o.Consumer, Reason: o.Reason, Who: delivery.Who(c.Identity()),
		Op: cmp.Or(o.ID, strings.ToLower(rand.Text())),
	}
	return o, nil
}
