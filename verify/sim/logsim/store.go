package logsim

import (
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// isPoint reports whether a request is a point of a run. What is not here, queues with a log do not
// ask for, or it decides nothing.
func isPoint(r ddb.Request) bool {
	switch r.Name() {
	case "create cursor", "get cursor", "put receipt", "put arrival", "allocation", "give places",
		"put order item", "trim tail", "query order items", "query waiting", "raise low",
		"get arrivals", "keep arrival", "keep message":
		return true
	}
	return false
}

func (m *model) view(p *sim.Proc) ddb.Engine {
	return m.View(p, isPoint, simdb.Hooks{Perform: m.perform, Older: m.older, Hash: m.HashAnswer})
}

func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	switch r.Name() {
	case "allocation", "give places":
		before := m.cursor()
		a, err := do()
		if a.Held {
			m.given(before, m.cursor())
		}
		return a, err
	case "put receipt":
		a, err := do()
		m.noteReceipts()
		return a, err
	case "put arrival":
		_ = m.cursor()
		key := keyOf(r.(ddb.Put).Item)
		before := m.stored[key]
		a, err := do()
		if a.Held && before != nil &&
			(before.expires.IsZero() || before.expires.After(m.Now.Add(m.Ahead()))) {
			m.Run.Violation("S4: what is stored under the key of %s was replaced", before.id)
		}
		if there := m.stored[key]; m.keyed() && a.Held &&
			there.arrived.Before(m.sent[bare(key)].Add(-m.Behind())) {
			m.Run.Violation("K-d: %s came before it was sent, by its stamp", there.id)
		}
		return a, err
	case "put order item":
		a, err := do()
		if put := r.(ddb.Put).Item; !a.Held && m.restores == 0 &&
			!a.Item.Get("entries").Equal(put.Get("entries")) {
			m.Run.Violation("O2: two order items up to %s", put.Get("seq"))
		}
		return a, err
	}
	return do()
}

// noteReceipts notes when messages first came.
func (m *model) noteReceipts() {
	for _, it := range m.Tables.Items("streamsort-arrivals") {
		if at := number(it, "received"); at != 0 {
			for _, id := range m.byReceipt {
				if keyOf(it) == "\x03"+sortkey.HashOf(id) {
					m.receipts[id] = time.Unix(0, at).UTC()
					if key := receivedKey(m.receipts[id], id); m.sent[key].IsZero() {
						m.sent[key] = m.Now
					}
				}
			}
		}
	}
}

// older are what a weak read may be answered: of the cursor, what stood there before; of others,
// without the first one, the last one, or all.
func (m *model) older(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	switch r.Name() {
	case "get cursor":
		if len(m.seen) > 1 {
			return world.Answers(ddb.Answer{Item: m.seen[0].item})
		}
	case "query order items":
		return world.Parts(now, world.WithoutFirst, world.WithoutLast, world.Nothing)
	case "query waiting":
		return world.Parts(now, world.WithoutFirst, world.WithoutLast)
	case "get arrivals":
		return world.Parts(now, world.WithoutLast)
	}
	return nil
}
