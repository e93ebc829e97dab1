package handoffsim

import (
	"context"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/internal/sim/simdb"
)

// queueView is the sorter's tables as one process sees them. How far a walk
// over all cursors has come is no point: nothing is decided by it.
func (m *model) queueView(p *sim.Proc) ddb.Engine {
	points := simdb.Engine(p, m.queues.Tables, &simdb.Hooks{Perform: m.perform, Older: older, Hash: hashAnswer})
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		switch r.Name() {
		default:
			return m.queues.Tables.Do(ctx, r)
		case "scan cursors":
			a, err := m.queues.Tables.Do(ctx, r)
			for _, it := range a.Items {
				hashQueue(p.Knows(), it)
			}
			return a, err
		case "query messages":
			query := r.(ddb.Query)
			if query.Limit == 0 {
				query.Limit = m.page
			}
			r = query
		case "nudge":
			m.nudging++
			defer func() { m.nudging-- }()
		case "get cursor", "create cursor", "raise floor", "keep message", "delete messages":
		}
		a, err := points.Do(ctx, r)
		if p == nil && r.Writes() { // no step, after which the run would check
			if wrong := m.Check(); wrong != nil {
				m.run.Violation("%w", wrong)
			}
		}
		return a, err
	})
}

// hashAnswer feeds all of an answer that a process can act on.
func hashAnswer(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	switch r.Name() {
	case "get cursor", "raise floor":
		hashQueue(d, a.Item)
	case "create cursor":
		if a.Held {
			a.Item = r.(ddb.Put).Item
		}
		hashQueue(d, a.Item)
	case "query messages":
		d.Int(int64(len(a.Items)))
		for _, it := range a.Items {
			hashOf(d, it, "seq", "expiresOn")
		}
		d.Bool(a.Next.Exists())
	case "keep message":
		d.Bool(a.Held || a.Item.Exists())
	}
}

// hashQueue is hashCursor of an item.
func hashQueue(d *sim.Digest, it ddb.Item) {
	hashOf(d, it, "queue", "position", "gapSince", "nudged", "floor", "floorSince")
}

func hashOf(d *sim.Digest, it ddb.Item, attributes ...ddb.Path) {
	for _, attribute := range attributes {
		it.Get(attribute).Digest(d)
	}
}

// perform has a request done. What it did is checked at the end of the step.
func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	m.changed = m.changed || r.Writes()
	switch r := r.(type) {
	case ddb.Get:
		// It answers as late as it may: a read that is not strong, for which
		// delivery has no use, gets what stood there before.
		if older := m.older[r.Key.Get("queue").Str()]; !r.Strong && older.Exists() {
			return ddb.Answer{Item: older.item}, nil
		}
	case ddb.Update:
		// A nudge makes a record each time: no two come in one millisecond, as
		// they do in a simulation.
		if r.Name() == "nudge" && m.streamed {
			is := m.cursor(r.Key.Get("queue").Str())
			m.records = append(m.records, record{older: is, newer: is})
		}
	}
	return do()
}

// older are what a weak read of messages may be answered: without any one of
// them, or all.
func older(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	if r.Name() != "query messages" {
		return nil
	}
	without := func(hidden func(i int) bool) func() (ddb.Answer, error) {
		return func() (ddb.Answer, error) {
			a, err := now()
			at := -1
			a.Items = slices.DeleteFunc(a.Items, func(ddb.Item) bool { at++; return hidden(at) })
			return a, err
		}
	}
	return []func() (ddb.Answer, error){
		without(func(int) bool { return true }), without(func(i int) bool { return i == 0 }), without(func(i int) bool { return i == 1 }),
	}
}
