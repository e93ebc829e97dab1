package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// order is what an operator asks for.
type order struct {
	handoff.Order
	act   string
	seq   int64
	start handoff.Start
}

// kind is what an act does, and which member says where; empty where none does.
type kind struct {
	place string
	do    func(context.Context, *handoff.Deliverer, order) (handoff.Consumer, error)
}

// kinds are the acts by their names.
var kinds = map[string]kind{
	handoff.ActSkip: {"seq", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Skip(ctx, o.Order, o.seq)
	}},
	handoff.ActRedrive: {"seq", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Redrive(ctx, o.Order, o.seq)
	}},
	handoff.ActRewind: {"start", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Rewind(ctx, o.Order, o.start)
	}},
	handoff.ActPause: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Pause(ctx, o.Order)
	}},
	handoff.ActResume: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Resume(ctx, o.Order)
	}},
	handoff.ActRemove: {"", func(ctx context.Context, d *handoff.Deliverer, o order) (handoff.Consumer, error) {
		return d.Remove(ctx, o.Order)
	}},
}

// readOrder reads the document of an act.
func readOrder(c *edge.Call) (order, *edge.Problem) {
	var o order
	members, problem := body(c)
	if problem != nil {
		return o, problem
	}
	given := map[string]bool{}
	for _, m := range members {
		given[m.Name] = true
		var err error
		switch m.Name {
		case "act":
			o.act, err = edge.Text(m.Value)
		case "queue":
			o.Queue, err = edge.Text(m.Value)
		case "consumer":
			o.Consumer, err = edge.Text(m.Value)
		case "reason":
			o.Reason, err = edge.Text(m.Value)
		case "id":
			if o.Op, err = edge.Text(m.Value); err == nil && o.Op == "" {
				err = errors.New("is empty")
			}
		case "seq":
			o.seq, err = edge.Seq(m.Value)
		case "start":
			o.start, err = startOf(m.Value)
		default:
			err = errors.New("is not a field of an act: act, queue, consumer, reason, id, seq and start are")
		}
		if err != nil {
			return o, edge.Invalid(m.Name, err.Error())
		}
	}
	kind, known := kinds[o.act]
	if !known {
		return o, edge.Invalid("act", "must be skip, redrive, rewind, pause, resume or remove")
	}
	for _, place := range []string{"seq", "start"} {
		if place == kind.place && !given[place] {
			return o, edge.Invalid(place, "is missing")
		}
		if place != kind.place && given[place] {
			return o, edge.Invalid(place, "is not a field of "+o.act)
		}
	}
	if !given["id"] {
		o.Op = strings.ToLower(rand.Text())
	}
	return o, nil
}
