package deliverysim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// isPoint reports whether a request is a point of a run. What is not named here is asked by no
// process, or decides nothing: so how far a walk over all cursors has come.
func (m *model) isPoint(r ddb.Request) bool {
	switch r.Name() {
	case "health", "learn":
		return m.outage.watched
	case "query messages", "get message", "keep message", "delete messages",
		"get cursor", "create cursor", "raise floor", "notify",
		"create consumer", "consumer", "consumers", "ask", "claim", "commit and claim", "block",
		"commit", "fail", "cancel", "defer", "expire", "commit prepared",
		"unblock", "rewind", "keep start", "finish start", "pause", "remove":
		return true
	}
	return false
}

// view is the tables as one process sees them.
func (m *model) view(p *sim.Proc) ddb.Engine {
	tables := m.View(p, m.isPoint, simdb.Hooks{
		Perform: func(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
			return m.perform(p, r, do)
		},
		Older: m.older, Hash: m.HashAnswer,
	})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		switch r.Name() {
		case "notify":
			m.notifying++
			defer func() { m.notifying-- }()
		case "claim", "commit and claim":
			m.claims(p, r)
		}
		a, err := tables.Do(ctx, r)
		switch {
		case err == nil && (r.Name() == "health" || r.Name() == "learn"):
			m.looked(p, r, a)
		case p == nil && ddb.Writes(r):
			m.checkNow()
		}
		return a, err
	})
}

// checkNow is Check where no step ends.
func (m *model) checkNow() {
	if wrong := m.Check(); wrong != nil {
		m.Run.Violation("%w", wrong)
	}
}

// perform has a request done. What it did is checked at the end of the step.
func (m *model) perform(p *sim.Proc, r ddb.Request,
	do func() (ddb.Answer, error)) (ddb.Answer, error) {
	if r, isUpdate := r.(ddb.Update); isUpdate {
		// A notification makes a record each time: no two come in one millisecond, as they do in a
		// simulation.
		if r.Name() == "notify" && m.streamed {
			is := m.cursor(r.Key.Get("queue").Str())
			m.records = append(m.records, record{older: is, newer: is})
		}
		if r.Name() == "notify" {
			m.notified(r.Key.Get("queue").Str())
		}
		if r.Table.Name == consumersTable {
			return m.performWrite(p, r, do)
		}
	}
	return do()
}

const consumersTable = "streamsort-consumers"

// performWrite has a write of a consumer done, and checks H2: a claim is ended by its own token,
// and another's only after its lease.
func (m *model) performWrite(p *sim.Proc, r ddb.Update,
	do func() (ddb.Answer, error)) (ddb.Answer, error) {
	before := m.standing(r.Key)
	a, err := do()
	if m.standing(r.Key) == before {
		return a, err
	}
	out := before.State == delivery.Started
	switch r.Name() {
	case "commit", "commit and claim", "fail", "defer":
		n, _ := compared(r.If, "tokenN").Int64()
		if token := (delivery.Token{N: n, Req: compared(r.If, "req").Str()}); !out ||
			before.Token != token {
			m.Run.Violation("H2: the claim of token %v was ended, or replaced, by %s with token %v",
				before.Token, p.Name(), token)
		}
	case "claim", "block", "cancel", "expire":
		now, _ := compared(r.If, "leaseUntil").Int64()
		if out && !before.LeaseUntil.Before(time.UnixMilli(now)) {
			m.Run.Violation("H2: the claim of token %v was taken over by %s before its lease was over",
				before.Token, p.Name())
		}
	}
	return a, err
}

func (m *model) standing(key ddb.Item) delivery.Consumer {
	c, _ := m.tables.Consumers.Requests(request.Inside{}).Consumer(context.Background(),
		key.Get("queue").Str(), key.Get("consumer").Str())
	return c
}

// compared is what a condition compares an attribute with; none where it does not.
func compared(c ddb.Cond, path ddb.Path) ddb.Value {
	if c.Path == path && len(c.Values) == 1 {
		return c.Values[0]
	}
	for _, part := range c.Conds {
		if v := compared(part, path); v != (ddb.Value{}) {
			return v
		}
	}
	return ddb.Value{}
}

// older are what a weak read may be answered: of messages, without any one of them, or all; of
// cursors and consumers, what stood there before, where reads are stale.
func (m *model) older(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	if r.Name() != "query messages" {
		return m.tables.Past.Older(r, now)
	}
	return world.Parts(now, world.Nothing, world.WithoutFirst, world.WithoutSecond)
}
