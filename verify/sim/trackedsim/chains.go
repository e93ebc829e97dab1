package trackedsim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// chainsOn is the chains' store on a view of its table.
func chainsOn(engine ddb.Engine) *xorack.Store {
	s, err := xorack.NewStore(engine, xorack.Names{})
	if err != nil {
		panic(err) // unreachable: the names are the default ones
	}
	return s
}

// chainView is the chains' table as one process sees it.
func (m *model) chainView(p *sim.Proc) *xorack.Store {
	engine := simdb.Engine(p, m.tables, &simdb.Hooks{Perform: m.chainRequest, Older: m.tables.Past.Older, Hash: hashAnswer})
	return chainsOn(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if _, isQuery := r.(ddb.Query); isQuery {
			// No point: the index may be behind, and each chain is read strongly.
			a, err := m.tables.Do(ctx, r)
			for _, it := range a.Items {
				p.Knows().Text(it.Get("tag").Str())
			}
			return a, err
		}
		switch r.Name() {
		case "postpone", "put off": // no points: nobody waits for them
			return m.tables.Do(ctx, r)
		}
		if r.Writes() {
			p.Knows().Int(m.now.Unix())
		}
		return engine.Do(ctx, r)
	}))
}

// chainRequest does a request, and checks what a write did.
func (m *model) chainRequest(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	u, isUpdate := r.(ddb.Update)
	if !isUpdate {
		return do()
	}
	tag := u.Key.Get("tag").Str()
	was := m.chain(tag)
	a, err := do()
	is := m.chain(tag)
	if r.Name() == "abandon" {
		if wrong := m.looked(is, saidAt(u)); wrong != nil {
			m.run.Violation("%w", wrong)
		}
	}
	if a.Held {
		if wrong := m.chained(was, is); wrong != nil {
			m.run.Violation("%w", wrong)
		}
	}
	return a, err
}

// hashAnswer feeds what of a chain an actor acts on.
func hashAnswer(d *sim.Digest, _ ddb.Request, a ddb.Answer) {
	d.Bool(a.Held)
	d.Digest(a.Item.Only("n", "st", "created", "deadline", "due", "expiresOn").Digest())
	d.Int(int64(len(a.Item.Get("ops").Members())))
}

// saidAt is when an end was said.
func saidAt(u ddb.Update) time.Time {
	for _, a := range u.Do {
		if ms, ok := a.Value.Int64(); ok && a.Path == "endedAt" {
			return time.UnixMilli(ms).UTC()
		}
	}
	return time.Time{}
}
