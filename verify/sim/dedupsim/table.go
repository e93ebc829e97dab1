package dedupsim

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// kind is what a request does: a swap by what it changes, others by their names.
type kind string

const (
	claiming      kind = "claim"
	replacing     kind = "replace"
	completing    kind = "complete"
	failing       kind = "fail"
	extending     kind = "extend"
	invalidating  kind = "invalidate"
	overriding    kind = "override"
	reading       kind = "read"
	puttingResult kind = "put result"
	gettingResult kind = "get result"
)

func (c *process) kindOf(r ddb.Request) kind {
	if r.Name() == "swap" {
		return c.swaps
	}
	return kind(r.Name())
}

func swapping(seen, next dedup.Row) kind {
	switch {
	case next.Token != seen.Token && next.Repair.By != "":
		return overriding
	case next.Token != seen.Token:
		return replacing
	case next.ValidUntil.UnixMilli() == 0:
		return invalidating
	case isCompleted(next):
		return completing
	case next.LeaseUntil.UnixMilli() == 0:
		return failing
	}
	return extending
}

// store is the table as the package has it: it notes what a swap does.
type store struct {
	dedup.Store
	c *process
}

func (s store) Swap(ctx context.Context, seen, next dedup.Row) (dedup.Row, bool, error) {
	s.c.swaps = swapping(seen, next)
	return s.Store.Swap(ctx, seen, next)
}

// ofRow reports whether it is about the row, not about a result's item.
func (k kind) ofRow() bool { return k != puttingResult && k != gettingResult }

// claims reports whether it can make an owner.
func (k kind) claims() bool { return k == claiming || k == replacing }

// ends reports whether only the owner may do it.
func (k kind) ends() bool { return k == completing || k == failing || k == extending }

func (c *process) table() dedup.Store {
	engine := simdb.Engine(c.p, c.tables(), &simdb.Hooks{
		Perform: c.performs, Older: c.olderAnswers, Hash: c.hashAnswer,
	})
	table := dedup.NewTable(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if c.elsewhere != nil {
			return c.elsewhere.Do(ctx, r)
		}
		if c.asks++; c.asks == 1 {
			c.looked = c.kindOf(r) == reading && !past.IsStrong(r)
		}
		if k := c.kindOf(r); k.claims() || k == overriding {
			defer func() { c.asking-- }()
		}
		a, err := engine.Do(ctx, r)
		if err == nil && c.kindOf(r) == reading && past.IsStrong(r) {
			c.forgotten = max(c.forgotten, c.rowOf(a.Item).Fence)
		}
		if k := c.kindOf(r); err == nil && (k.claims() || k == reading) {
			c.learns(k, c.rowOf(a.Item), done(r, a))
		}
		return a, err
	}), dedup.Names{})
	return store{table, c}
}

// tables answer also when the lease is over, with which the context of an effect ends: a request
// that is sent arrives.
func (m *model) tables() ddb.Engine {
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		return m.Tables.Do(context.WithoutCancel(ctx), r)
	})
}

// performs makes a request, and checks what a write of the row did.
func (c *process) performs(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	if !ddb.Writes(r) || !c.kindOf(r).ofRow() {
		return do()
	}
	w := write{kind: c.kindOf(r), by: c.by, do: do}
	if w.kind.claims() || w.kind.ends() {
		w.token = c.token
	}
	if w.kind.claims() {
		w.clock = c.asked
	}
	if w.kind.ends() {
		w.fence = c.fence
	}
	if c.copying && len(c.strays) < 4 {
		c.strays = append(c.strays, w)
	}
	return c.perform(w)
}

// olderAnswers are what a read that is not strong may show beside what is there: an older row, or
// no item of a result.
func (c *process) olderAnswers(r ddb.Request,
	_ func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	if c.kindOf(r) == gettingResult {
		return world.Answers(ddb.Answer{})
	}
	older := make([]ddb.Answer, len(c.older))
	for i, it := range c.older {
		older[i].Item = it
	}
	return world.Answers(older...)
}

// done reports whether a write had its effect, or a read found something.
func done(r ddb.Request, a ddb.Answer) bool { return a.Held || !ddb.Writes(r) && a.Item.Exists() }

func (c *process) hashAnswer(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	d.Bool(done(r, a))
	if c.kindOf(r).ofRow() {
		c.hash(d, c.rowOf(a.Item))
		return
	}
	d.Digest(a.Item.Digest())
}

func (m *model) rowOf(it ddb.Item) dedup.Row {
	r, err := m.table.Decode(it)
	if err != nil {
		m.Run.Violation("a row that cannot be read: %v", err)
	}
	return r
}
