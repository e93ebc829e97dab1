package delivery

import (
	"context"
	"fmt"
)

const (
	opSettle  = "settle"
	opRelease = "release"
)

// settling settles a claim in quarantine by an operator's word.
func (d *Deliverer) settling(o Order) (act, error) {
	if o.Outcome != Committed && o.Outcome != Aborted {
		return act{}, o.Outcome.refused()
	}
	request := map[string]string{"token": o.Token.String(), "outcome": string(o.Outcome)}
	return act{o.Token.N, request, func(ctx context.Context, op string, c Consumer) (Consumer, error) {
		switch q, there := c.Quarantined(o.Token); {
		case there && !q.unsettled() && o.Outcome == Aborted:
			return c, nil // by its own database
		case !there:
			return c, errNotQuarantined
		case !q.unsettled():
			return c, fmt.Errorf("%w: it is settled as aborted", errNotQuarantined)
		}
		// It is not remembered among the outcomes: a database is asked to know what is committed
		// there.
		return made(d.store.SettleQuarantined(ctx, Held{c.Queue, c.Name, o.Token}, o.Outcome, false, op))
	}}, nil
}

// releasing gives up the messages of a claim in quarantine.
func (d *Deliverer) releasing(o Order) act {
	return act{o.Token.N, map[string]string{"token": o.Token.String()},
		func(ctx context.Context, op string, c Consumer) (Consumer, error) {
			switch q, there := c.Quarantined(o.Token); {
			case !there:
				return c, errNotQuarantined
			case q.unsettled():
				return c, errQuarantined
			}
			return made(d.store.Release(ctx, Held{c.Queue, c.Name, o.Token}, op))
		}}
}

// unsettledTo is the highest seq of which nobody knows whether it was delivered, or -1.
func unsettledTo(c Consumer) int64 {
	to := int64(-1)
	for _, q := range c.Quarantine {
		if q.unsettled() {
			to = max(to, q.To)
		}
	}
	return to
}

// past is the seq up to which the consumer needs nothing any more.
func past(c Consumer) int64 {
	past := c.Delivered
	for _, q := range c.Quarantine {
		if q != (Quarantined{}) {
			past = min(past, q.From)
		}
	}
	return past
}
