package main

import (
	"cmp"
	"crypto/rand"
	"strings"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

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
