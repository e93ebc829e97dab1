package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// order is what an operator asks for.
type order struct {
	Order    handoff.Order
	Action   string        `json:"action" required:"true" one:"skip redrive rewind pause resume settle release remove restart-keys"`
	Queue    string        `json:"queue"`
	Consumer string        `json:"consumer"`
	Reason   string        `json:"reason"`
	ID       string        `json:"id" bounds:"1.."`
	Seq      jsonseq.Asked `json:"seq"`
	Start    handoff.Start `json:"start"`
	// Token is the claim in quarantine, Outcome how it ended.
	Token   token                `json:"token"`
	Outcome handoff.TokenOutcome `json:"outcome"`
	Given   strictjson.Given
}

// kind is what an operation does, and which member says where; empty where none does.
type kind struct {
	place string
	do    func(context.Context, *handoff.Deliverer, order) (handoff.Consumer, error)
}

// kinds are the operations by their names.
var kinds = map[string]kind{
	handoff.OpSkip: {"seq", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Skip(ctx, o.Order, int64(o.Seq))
	}},
	handoff.OpRedrive: {"seq", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Redrive(ctx, o.Order, int64(o.Seq))
	}},
	handoff.OpRewind: {"start", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Rewind(ctx, o.Order, o.Start)
	}},
	handoff.OpPause: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Pause(ctx, o.Order)
	}},
	handoff.OpResume: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Resume(ctx, o.Order)
	}},
	handoff.OpSettle: {"token", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.SettleQuarantined(ctx, o.Order, o.Token.Token, o.Outcome)
	}},
	handoff.OpRelease: {"token", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Release(ctx, o.Order, o.Token.Token)
	}},
	handoff.OpRestartKeys: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		_, err := d.RestartKeys(ctx, o.Order)
		return handoff.Consumer{}, err
	}},
	handoff.OpRemove: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Remove(ctx, o.Order)
	}},
}

// readOrder reads the document of an operation.
func readOrder(c *httpapi.Call) (order, error) {
	var o order
	if err := c.Read(&o, &o.Queue); err != nil {
		return o, err
	}
	if o.Given["outcome"] && o.Action != handoff.OpSettle {
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
	o.Order = handoff.Order{
		Queue: o.Queue, Consumer: o.Consumer, Reason: o.Reason, Who: handoff.Who(c.Identity()),
		Op: cmp.Or(o.ID, strings.ToLower(rand.Text())),
	}
	return o, nil
}
