package xoracksim

import (
	"context"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

var chains = xorack.Names{}.Tables()[0]

// storeOn is the store on a view of the table.
func storeOn(engine ddb.Engine) *xorack.Store {
	return xorack.NewStore(engine, xorack.Names{})
}

func (m *model) view(p *sim.Proc) *xorack.Store {
	engine := simdb.Engine(p, m.Tables,
		&simdb.Hooks{Perform: m.perform, Older: m.older})
	return storeOn(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if q, isQuery := r.(ddb.Query); isQuery {
			p.Knows().Text(q.Partition.String()) // its answer does not say what was asked
			if len(m.everDue(q)) == 0 {
				return ddb.Answer{}, nil // a part that never had a chain is not worth a point
			}
		}
		return engine.Do(ctx, r)
	}))
}

// tagOf is whose chain a write writes.
func tagOf(r ddb.Request) string {
	switch r := r.(type) {
	case ddb.Update:
		return r.Key.Get("tag").Str()
	case ddb.Put:
		return r.Item.Get("tag").Str()
	}
	return ""
}

// perform does a request, and checks what a write did.
func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	if !ddb.Writes(r) {
		return do()
	}
	before := m.chain(tagOf(r))
	a, err := do()
	if !a.Held {
		return a, err
	}
	m.Changed = true
	if r.Name() == "seal" {
		m.checkSeal(before)
	}
	m.wrote(before, record{m.chain(tagOf(r)), simdb.Standing(r, a)})
	return a, err
}

// older is what the index may show beside what it should: nothing, or chains that have left it. A
// chain is read as it was before, where reads are stale.
func (m *model) older(r ddb.Request, now func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	query, ofIndex := r.(ddb.Query)
	if !ofIndex {
		return m.past.Older(r, now)
	}
	return world.Answers(ddb.Answer{}, ddb.Answer{Items: m.everDue(query)})
}

// everDue are the entries of chains of a part that were ever due.
func (m *model) everDue(q ddb.Query) []ddb.Item {
	var all []ddb.Item
	if q.After.Exists() {
		return all
	}
	for _, it := range m.Tables.Items(chains.Name) {
		if shard := m.dueShards[it.Get("tag").Str()]; shard.Equal(q.Partition) {
			all = append(all,
				ddb.Fields{"tag": it.Get("tag"), "dueShard": shard, "due": ddb.Millis(world.Start)}.Item())
		}
	}
	return all
}

// troubleTable has the rows of the chains that failed or timed out.
var troubleTable = trouble.Definition(trouble.DefaultName)

// listed is what a process does with an end: it announces it, and lists the chain.
func (m *model) listed(p *sim.Proc) xorack.Announce {
	rows := trouble.NewStore(simdb.Engine(p, m.Tables, &simdb.Hooks{}), troubleTable)
	return announce.Listed(rows, xorack.MinTombstone, m.announce(p))
}

// checkListed checks that a chain that is sealed is in the list of its end, and in no other.
func (m *model) checkListed(c xorack.Chain) {
	rows := trouble.NewStore(m.Tables, troubleTable)
	want, _ := announce.RowOf(c)
	for _, state := range trouble.ChainStates {
		if _, found, err := rows.Row(context.Background(), state, c.Tag, ""); err != nil ||
			found != (state == want.State) {
			m.Run.Violation("%s was sealed as %s; it is listed as %s: %v, %v", c.Tag,
				c.End(), state, found, err)
		}
	}
}
