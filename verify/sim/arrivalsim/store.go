package arrivalsim

import (
	"context"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// points are the requests that are points of a run. What is not here, queues in
// arrival order do not ask for, or it decides nothing.
var points = map[string]bool{
	"create cursor": true, "get cursor": true, "put arrival": true, "allocation": true, "put order item": true, "trim tail": true,
	"query order items": true, "get arrivals": true, "keep arrival": true, "keep message": true,
}

// view is the tables as one process sees them.
func (m *model) view(p *sim.Proc) ddb.Engine {
	tables := simdb.Engine(p, m.tables, &simdb.Hooks{Perform: m.perform, Older: m.older, Hash: m.hash})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if !points[r.Name()] {
			return m.tables.Do(ctx, r)
		}
		return tables.Do(ctx, r)
	})
}

// hash feeds all of an answer that a process can act on.
func (m *model) hash(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	switch r.Name() {
	case "get cursor", "create cursor", "allocation", "trim tail":
		it := a.Item
		if put, ok := r.(ddb.Put); ok && a.Held {
			it = put.Item
		}
		hashCursor(d, it)
		d.Bool(a.Held && r.Name() != "create cursor")
		d.Int(m.now.Unix()) // what a process remembers of a cursor has an age
	case "put arrival":
		put := r.(ddb.Put).Item
		if a.Held {
			hashArrival(d, put)
		} else {
			hashArrival(d, a.Item)
		}
		d.Bool(a.Held || a.Item.Get("op").Equal(put.Get("op")))
	case "query order items":
		for _, it := range a.Items {
			simdb.HashOf(d, it, "seq", "entries")
		}
		d.Bool(a.Next.Exists())
	case "get arrivals":
		for _, it := range a.Items {
			hashArrival(d, it)
		}
	case "keep message":
		d.Bool(a.Held || a.Item.Exists())
	case "keep arrival":
		// Its first condition is that it is the one that is meant.
		d.Bool(a.Held || r.(ddb.Update).If.Conds[0].Holds(a.Item))
	}
}

func hashCursor(d *sim.Digest, it ddb.Item) {
	simdb.HashOf(d, it, "position", "tailFrom", "tail", "printsFrom", "prints", "gapSince")
}

func hashArrival(d *sim.Digest, it ddb.Item) {
	simdb.HashOf(d, it, "op", "seen", "expiresOn", "count", "digest")
}

// keyOf is the key that an arrival is stored under.
func keyOf(it ddb.Item) sortkey.SortKey { return sortkey.SortKey(it.Get("sortKey").Str()) }

// perform has a request done, and checks what it did.
func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	m.changed = m.changed || r.Writes()
	switch r.Name() {
	case "allocation":
		before := m.cursor()
		a, err := do()
		if a.Held {
			m.given(before, m.cursor())
		}
		return a, err
	case "put arrival":
		put := r.(ddb.Put).Item
		id := put.Get("id").Str()
		before, there := m.stored(keyOf(put))
		a, err := do()
		if at, known := slices.BinarySearch(m.own, keyOf(put)); id == "" && !known {
			m.own = slices.Insert(m.own, at, keyOf(put))
		}
		if there && (before.ExpiresOn.IsZero() || before.ExpiresOn.After(m.now)) && a.Held {
			m.run.Violation("S4: what is stored under %s was replaced", id)
		}
		return a, err
	case "put order item":
		a, err := do()
		if put := r.(ddb.Put).Item; !a.Held && !a.Item.Get("entries").Equal(put.Get("entries")) {
			m.run.Violation("O2: two order items up to %s", put.Get("seq"))
		}
		return a, err
	}
	return do()
}

// older are what a weak read may be answered: of the cursor, what stood there
// before; of order items, without the first one, the last one, or all; of
// arrivals, without the last one.
func (m *model) older(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	shown := func(part func([]ddb.Item) []ddb.Item) func() (ddb.Answer, error) { return logsim.Shown(now, part) }
	switch r.Name() {
	case "get cursor":
		if len(m.seen) > 1 {
			return []func() (ddb.Answer, error){func() (ddb.Answer, error) { return ddb.Answer{Item: m.seen[0].item}, nil }}
		}
	case "query order items":
		return []func() (ddb.Answer, error){
			shown(logsim.WithoutFirst),
			shown(logsim.WithoutLast),
			shown(func([]ddb.Item) []ddb.Item { return nil }),
		}
	case "get arrivals":
		return []func() (ddb.Answer, error){shown(logsim.WithoutLast)}
	}
	return nil
}
