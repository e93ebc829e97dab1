package main

import (
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
	handoff.Order
	action string
	seq    int64
	start  handoff.Start
	// token is the claim in quarantine, outcome how it ended.
	token   handoff.Token
	outcome handoff.TokenOutcome
}

// kind is what an operation does, and which member says where; empty where none does.
type kind struct {
	place string
	do    func(context.Context, *handoff.Deliverer, order) (handoff.Consumer, error)
}

// kinds are the operations by their names.
var kinds = map[string]kind{
	handoff.OpSkip: {"seq", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Skip(ctx, o.Order, o.seq)
	}},
	handoff.OpRedrive: {"seq", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Redrive(ctx, o.Order, o.seq)
	}},
	handoff.OpRewind: {"start", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Rewind(ctx, o.Order, o.start)
	}},
	handoff.OpPause: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Pause(ctx, o.Order)
	}},
	handoff.OpResume: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Resume(ctx, o.Order)
	}},
	handoff.OpSettle: {"token", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.SettleQuarantined(ctx, o.Order, o.token, o.outcome)
	}},
	handoff.OpRelease: {"token", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Release(ctx, o.Order, o.token)
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
	members, err := body(c)
	if err != nil {
		return o, err
	}
	given := map[string]bool{}
	for _, m := range members {
		given[m.Name] = true
		var err error
		switch m.Name {
		case "action":
			o.action, err = strictjson.Text(m.Value)
		case "queue":
			o.Queue, err = strictjson.Text(m.Value)
		case "consumer":
			o.Consumer, err = strictjson.Text(m.Value)
		case "reason":
			o.Reason, err = strictjson.Text(m.Value)
		case "id":
			if o.Op, err = strictjson.Text(m.Value); err == nil && o.Op == "" {
				err = invalid.New(invalid.Missing, "", "is empty")
			}
		case "seq":
			o.seq, err = jsonseq.Read(m.Value)
		case "start":
			o.start, err = startOf(m.Value)
		case "token":
			o.token, err = readToken(m.Value)
		case "outcome":
			var text string
			text, err = strictjson.Text(m.Value)
			o.outcome = handoff.TokenOutcome(text)
		default:
			err = invalid.New(invalid.Unknown, "", "is not a field of an operation: action, queue, consumer, reason, id, seq, start, token and outcome are")
		}
		if err != nil {
			return o, invalid.Named(m.Name, err)
		}
	}
	if o.Queue, err = c.Full("queue", o.Queue); err != nil {
		return o, err
	}
	kind, known := kinds[o.action]
	if !known {
		return o, invalid.New(invalid.Unknown, "action", "must be skip, redrive, rewind, pause, resume, settle, release, remove or restart-keys")
	}
	if given["outcome"] && o.action != handoff.OpSettle {
		return o, invalid.New(invalid.Misplaced, "outcome", "is not a field of "+o.action)
	}
	for _, place := range []string{"seq", "start", "token"} {
		if place == kind.place && !given[place] {
			return o, invalid.New(invalid.Missing, place, "is missing")
		}
		if place != kind.place && given[place] {
			return o, invalid.New(invalid.Misplaced, place, "is not a field of "+o.action)
		}
	}
	o.Who = handoff.Who(c.Identity())
	if !given["id"] {
		o.Op = strings.ToLower(rand.Text())
	}
	return o, nil
}
