// Package consumers is what the simulators of pkg/handoff share: how a consumer
// is told apart from another one ([Hash]), a consumer as an answer ([Answer]),
// and the consumers' table as one process sees it ([View]).
package consumers

import (
	"fmt"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// end is fed behind a list: no number and no length is that.
const end = -1

// Hash feeds what can differ in a consumer within a scenario, and that anybody
// acts on: why something failed, and since when, is only shown.
func Hash(d *sim.Digest, c handoff.Consumer) {
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
	d.Bool(c.Tracked)
	d.Int(int64(c.Attempts))
	d.Int(c.SingleTo)
	d.Int(c.RetryAt.Unix())
	d.Text(c.Paused)
	d.Int(c.Rewinds)
	d.Text(c.Starting)
	d.Text(c.LastOp)
	for _, r := range c.Outcomes {
		d.Int(r.N)
		d.Text(string(r.Outcome))
	}
	for _, q := range c.Quarantine {
		if q == (handoff.Quarantined{}) {
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
	d.Int(c.Refused.Told)
	d.Text(c.Refused.By)
}

func hashToken(d *sim.Digest, t handoff.Token) {
	d.Int(t.N)
	d.Text(t.Req)
}

// Answer is a consumer, and whether it stands there by the request.
type Answer struct {
	handoff.Consumer
	Made bool
}

// Hash implements [sim.Hasher].
func (a Answer) Hash(d *sim.Digest) {
	Hash(d, a.Consumer)
	d.Bool(a.Made)
}

// String is what a trace shows.
func (a Answer) String() string {
	return fmt.Sprintf("%s %v %d-%d until %s, delivered %d, outcomes %v, made %v",
		a.State, a.Token, a.From, a.To, a.LeaseUntil.Format("15:04:05"), a.Delivered, a.Outcomes, a.Made)
}

// Write is a request of a process that answers with a consumer and whether it
// made it so.
func Write(p *sim.Proc, label sim.Label, request func() (handoff.Consumer, bool, error)) (handoff.Consumer, bool, error) {
	answer, err := sim.Do(p, label, true, func() (Answer, error) {
		c, made, err := request()
		return Answer{c, made}, err
	})
	return answer.Consumer, answer.Made, err
}

// Read is a request of a process that reads a consumer strongly.
func Read(p *sim.Proc, label sim.Label, request func() (handoff.Consumer, error)) (handoff.Consumer, error) {
	answer, err := sim.Do(p, label, false, func() (Answer, error) {
		c, err := request()
		return Answer{c, true}, err
	})
	return answer.Consumer, err
}
