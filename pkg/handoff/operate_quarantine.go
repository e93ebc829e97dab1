package handoff

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// The kinds of an Act on a claim in quarantine.
const (
	ActSettle  = "settle"
	ActRelease = "release"
)

// SettleQuarantined says, by an operator's word, how a claim in quarantine ended:
// Committed takes it away, Aborted says that its messages were not handed on. It
// is for a consumer's database that is gone: as long as it is there, its own
// marker tells. A claim that is not in quarantine, or settled, is ErrOutran.
func (d *Deliverer) SettleQuarantined(ctx context.Context, o Order, token Token, outcome TokenOutcome) (Consumer, error) {
	if outcome != Committed && outcome != Aborted {
		return Consumer{}, &cursor.InvalidError{Field: "outcome", Problem: "must be COMMITTED or ABORTED"}
	}
	o.Reason = fmt.Sprintf("%s as %s: %s", token, outcome, o.Reason)
	return d.act(ctx, o, ActSettle, token.N, func(_ string, c Consumer) (Consumer, error) {
		// It is not remembered among the outcomes: a database is asked to know
		// what is committed there.
		after, done, err := d.store.SettleQuarantined(ctx, c.Queue, c.Name, token, outcome, false)
		if _, was := c.quarantined(token); was && outcome == Committed && err == nil {
			// It is gone, by us or by its own database.
			_, there := after.quarantined(token)
			done = done || !there
		}
		return made(after, done, err)
	})
}

// Release gives up the messages of a claim in quarantine that was aborted. To
// have them handed on instead, rewind to them first: everything behind them is
// handed on again, too.
func (d *Deliverer) Release(ctx context.Context, o Order, token Token) (Consumer, error) {
	o.Reason = fmt.Sprintf("%s: %s", token, o.Reason)
	return d.act(ctx, o, ActRelease, token.N, func(_ string, c Consumer) (Consumer, error) {
		if q, there := c.quarantined(token); there && q.Unsettled() {
			return c, ErrQuarantined
		}
		return made(d.store.Release(ctx, c.Queue, c.Name, token))
	})
}
