package logsim

import (
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// points are the requests that are points of a run. What is not here, queues with a log do not ask
// for, or it decides nothing.
var points = map[string]bool{
	"create cursor": true, "get cursor": true, "put receipt": true, "put arrival": true, "allocation": true, "give places": true, "put order item": true,
	"trim tail": true, "query order items": true, "query waiting": true, "raise low": true, "get arrivals": true, "keep arrival": true, "keep message": true,
}

// view is the tables as one process sees them.
func (m *model) view(p *sim.Proc) ddb.Engine {
	return m.View(p, points, simdb.Hooks{Perform: m.perform, Older: m.older, Hash: m.hash})
}

// hash feeds all of an answer that a process can act on, and when it came.
func (m *model) hash(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	d.Int(m.Now.UnixMilli())
	there := a.Item
	switch put, isPut := r.(ddb.Put); {
	case isPut && a.Held:
		there = put.Item
	case isPut && !a.Item.Get("op").Equal(put.Item.Get("op")):
		d.Bool(false) // it is another's
	}
	switch r.Name() {
	case "keep message":
		d.Bool(a.Held || a.Item.Exists())
		return
	case "keep arrival":
		// Its first condition is that it is the one that is meant.
		d.Bool(a.Held || r.(ddb.Update).If.Conds[0].Holds(a.Item))
		return
	case "allocation", "give places", "trim tail", "raise low", "put receipt":
		d.Bool(a.Held)
	}
	m.hashItem(d, there)
	for _, it := range a.Items {
		m.hashItem(d, it)
	}
	d.Bool(a.Next.Exists())
}

// hashItem feeds an item, but for what its last change was: only the stream acts on that.
func (m *model) hashItem(d *sim.Digest, it ddb.Item) { m.Hash(d, it, "change") }

// perform has a request done, and checks what it did.
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
			(before.expires.IsZero() || before.expires.After(m.Now.Add(m.aheadBy()))) {
			m.Run.Violation("S4: what is stored under the key of %s was replaced", before.id)
		}
		if there := m.stored[key]; m.keyed() && a.Held &&
			there.arrived.Before(m.sent[bare(key)].Add(-m.behindBy())) {
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
			return []func() (ddb.Answer, error){func() (ddb.Answer, error) {
				return ddb.Answer{Item: m.seen[0].item}, nil
			}}
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
