package delivery

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// The kinds of an Operation on a claim in quarantine.
const (
	opSettle  = "settle"
	opRelease = "release"
)

// SettleQuarantined says, by an operator's word, how a claim in quarantine ended:
// Committed takes it away, Aborted says that its messages were not delivered. It
// is for a consumer's database that is gone: as long as it is there, its own
// marker decides. ErrNotQuarantined where the claim is not in quarantine, or is
// settled otherwise.
func (d *Deliverer) SettleQuarantined(ctx context.Context, o Order, token Token, outcome TokenOutcome) (Consumer, error) {
	if outcome != Committed && outcome != Aborted {
		return Consumer{}, &cursor.InvalidError{Field: "outcome", Code: invalid.Unknown, Problem: "must be COMMITTED or ABORTED"}
	}
	request := map[string]string{"token": token.String(), "outcome": string(outcome)}
	return d.operate(ctx, o, opSettle, token.N, request, func(op string, c Consumer) (Consumer, error) {
		switch q, there := c.Quarantined(token); {
		case there && !q.Unsettled() && outcome == Aborted:
			return c, nil // by its own database
		case !there:
			return c, ErrNotQuarantined
		case !q.Unsettled():
			return c, fmt.Errorf("%w: it is settled as aborted", ErrNotQuarantined)
		}
		// It is not remembered among the outcomes: a database is asked to know
		// what is committed there.
		return made(d.store.SettleQuarantined(ctx, c.Queue, c.Name, token, outcome, false, op))
	})
}

// Release gives up the messages of a claim in quarantine that was aborted. To
// have them delivered instead, rewind to them first: everything behind them is
// delivered again, too. ErrQuarantined where the claim is not settled,
// ErrNotQuarantined where it is not in quarantine.
func (d *Deliverer) Release(ctx context.Context, o Order, token Token) (Consumer, error) {
	return d.operate(ctx, o, opRelease, token.N, map[string]string{"token": token.String()}, func(op string, c Consumer) (Consumer, error) {
		switch q, there := c.Quarantined(token); {
		case !there:
			return c, ErrNotQuarantined
		case q.Unsettled():
			return c, ErrQuarantined
		}
		return made(d.store.Release(ctx, c.Queue, c.Name, token, op))
	})
}

// unsettledTo is the highest seq of which nobody knows whether it was
// delivered; -1 where there is none.
func unsettledTo(c Consumer) int64 {
	to := int64(-1)
	for _, q := range c.Quarantine {
		if q.Unsettled() {
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
