package keyedsim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// points are the requests that are points of a run. What is not here, keyed queues do not
// ask for, or it decides nothing.
var points = map[string]bool{
	"create cursor": true, "get cursor": true, "put receipt": true, "put arrival": true, "give places": true, "put order item": true, "trim tail": true,
	"query order items": true, "query waiting": true, "raise low": true, "get arrivals": true, "keep arrival": true, "keep message": true,
}

// view is the tables as one process sees them.
func (m *model) view(p *sim.Proc) ddb.Engine {
	tables := simdb.Engine(p, m.tables, &simdb.Hooks{Perform: m.perform, Older: m.older, Hash: m.hash})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if !points[r.Name()] {
			return m.tables.Do(ctx, r)
		}
		if q, ok := r.(ddb.Query); ok && m.page > 0 && (q.Limit == 0 || q.Limit > m.page) {
			q.Limit = m.page
			r = q
		}
		return tables.Do(ctx, r)
	})
}

// hash feeds all of an answer that a process can act on, and when it came.
func (m *model) hash(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	d.Int(m.now.UnixMilli())
	switch r.Name() {
	case "get cursor", "create cursor", "give places", "trim tail", "raise low":
		it := a.Item
		if put, ok := r.(ddb.Put); ok && a.Held {
			it = put.Item
		}
		hashCursor(d, it)
		d.Bool(a.Held && r.Name() != "create cursor")
	case "put receipt":
		if it := r.(ddb.Put).Item; a.Held {
			simdb.HashOf(d, it, "received")
		} else {
			simdb.HashOf(d, a.Item, "received")
		}
	case "put arrival":
		put := r.(ddb.Put).Item
		if a.Held {
			hashMessage(d, put)
		} else {
			hashMessage(d, a.Item)
		}
		d.Bool(a.Held || a.Item.Get("op").Equal(put.Get("op")))
	case "query order items":
		for _, it := range a.Items {
			simdb.HashOf(d, it, "seq", "entries", "expiresOn")
		}
		d.Bool(a.Next.Exists())
	case "get arrivals", "query waiting":
		for _, it := range a.Items {
			hashMessage(d, it)
		}
		d.Bool(a.Next.Exists())
	case "put order item", "keep message":
		d.Bool(a.Held || a.Item.Exists())
	case "keep arrival":
		// Its first condition is that it is the one that is meant.
		d.Bool(a.Held || r.(ddb.Update).If.Conds[0].Holds(a.Item))
	}
}

func hashCursor(d *sim.Digest, it ddb.Item) {
	simdb.HashOf(d, it, "position", "tailFrom", "tail", "high", "low", "gapSince", "inRow", "anew")
}

func hashMessage(d *sim.Digest, it ddb.Item) {
	simdb.HashOf(d, it, "sortKey", "op", "seen", "enqueuedAt", "expiresOn", "digest")
}

// perform has a request done, and checks what it did.
func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	m.changed = m.changed || r.Writes()
	switch r.Name() {
	case "give places":
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
		put := r.(ddb.Put).Item
		key := sortkey.SortKey(put.Get("sortKey").Str())
		before := m.stored[key]
		a, err := do()
		if a.Held && before != nil && (before.expires.IsZero() || before.expires.After(m.now.Add(m.aheadBy()))) {
			m.run.Violation("S4: what is stored under the key of %s was replaced", before.id)
		}
		if there := m.stored[key]; a.Held && there.arrived.Before(m.sent[bare(key)].Add(-m.behindBy())) {
			m.run.Violation("K-d: %s came before it was sent, by its stamp", there.id)
		}
		return a, err
	case "put order item":
		a, err := do()
		if put := r.(ddb.Put).Item; !a.Held && m.restores == 0 && !a.Item.Get("entries").Equal(put.Get("entries")) {
			m.run.Violation("K-e: two order items up to %s", put.Get("seq"))
		}
		return a, err
	}
	return do()
}

// noteReceipts notes when messages first came.
func (m *model) noteReceipts() {
	for _, it := range m.tables.Items("streamsort-arrivals") {
		if at := number(it, "received"); at != 0 {
			for _, id := range m.byReceipt {
				if it.Get("sortKey").Str() == "\x03"+string(sortkey.HashOf(id)) {
					m.receipts[id] = time.Unix(0, at).UTC()
					if key := receivedKey(m.receipts[id], id); m.sent[key].IsZero() {
						m.sent[key] = m.now
					}
				}
			}
		}
	}
}

// older are what a weak read may be answered: of the cursor, what stood there before; of
// others, without the first one, the last one, or all.
func (m *model) older(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	shown := func(part func([]ddb.Item) []ddb.Item) func() (ddb.Answer, error) { return logsim.Shown(now, part) }
	switch r.Name() {
	case "get cursor":
		if len(m.seen) > 1 {
			return []func() (ddb.Answer, error){func() (ddb.Answer, error) { return ddb.Answer{Item: m.seen[0].item}, nil }}
		}
	case "query order items":
		return []func() (ddb.Answer, error){shown(logsim.WithoutFirst), shown(logsim.WithoutLast), shown(func([]ddb.Item) []ddb.Item { return nil })}
	case "query waiting":
		return []func() (ddb.Answer, error){shown(logsim.WithoutFirst), shown(logsim.WithoutLast)}
	case "get arrivals":
		return []func() (ddb.Answer, error){shown(logsim.WithoutLast)}
	}
	return nil
}
