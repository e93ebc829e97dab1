// Package consumers is what the simulators of pkg/delivery share: how a consumer is distinguished
// from another one ([Hash]), the tables of a run ([Tables]), and a consumer that claims, with what
// must hold of its claims ([Model]) and a [Database] of its own.
package consumers

import (
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
)

// end is fed behind a list: no number and no length is that.
const end = -1

// Hash feeds what can differ in a consumer within a scenario, and that anybody acts on: why
// something failed, and since when, is only shown.
func Hash(d *sim.Digest, c delivery.Consumer) {
	d.Bool(c.Exists())
	if !c.Exists() {
		return
	}
	d.Text(c.Name)
	d.Int(c.Delivered)
	d.Text(string(c.State))
	hashToken(d, c.Token)
	d.Int(c.From)
	d.Int(c.To)
	d.Int(c.LeaseUntil.Unix())
	d.Bool(c.Deferred)
	d.Int(int64(c.Attempts))
	d.Int(int64(c.Together))
	d.Int(int64(c.Tried))
	d.Int(c.TriedTo)
	d.Int(c.IsolateTo)
	d.Int(c.RetryAt.Unix())
	d.Int(int64(c.Away))
	d.Int(c.FailingSince.Unix())
	d.Int(c.Failed.Unix())
	d.Bool(c.Proven)
	d.Text(c.Paused)
	d.Int(c.Rewinds)
	d.Text(c.Starting)
	d.Int(c.KeptFrom)
	d.Text(c.LastOp)
	for _, r := range c.Outcomes {
		d.Int(r.N)
		d.Text(string(r.Outcome))
	}
	for _, q := range c.Quarantine {
		if q == (delivery.Quarantined{}) {
			break // the rest are zero
		}
		hashToken(d, q.Token)
		d.Text(string(q.State))
	}
	d.Int(end)
	for _, o := range c.Outbox {
		if o.Queue == "" {
			break // the rest are zero
		}
		d.Text(o.Queue)
	}
	d.Int(end)
	d.Int(c.Refused.N)
	d.Int(c.Refused.Announced)
	d.Text(c.Refused.By)
}

func hashToken(d *sim.Digest, t delivery.Token) {
	d.Int(t.N)
	d.Text(t.Req)
}
