package deliverysim

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// chainsOn is the chains' store on a view of its table.
func chainsOn(engine ddb.Engine) *xorack.Store {
	return xorack.NewStore(engine, xorack.Names{})
}

// acker is a process's on its view of the chains' table; nil where there are no chains.
func (m *model) acker(p *sim.Proc) *xorack.Acker {
	if m.work == nil || m.work.depth == 0 {
		return nil
	}
	points := simdb.Engine(p, m.tables,
		&simdb.Hooks{Perform: m.chainRequest, Older: m.tables.Past.Older, Hash: m.HashAnswer})
	view := ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
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
		if ddb.Writes(r) {
			p.Knows().Int(m.Now.Unix())
		}
		return points.Do(ctx, r)
	})
	return sim.Must(xorack.New(chainsOn(view),
		&xorack.Options{ForEach: fanout.OneByOne, Now: m.Clock(p)}))
}

func (m *model) chain(tag string) xorack.Chain {
	c, _ := chainsOn(m.tables).Chain(context.Background(), tag)
	return c
}

// chainRequest does a request, and checks what a write did.
func (m *model) chainRequest(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	u, isUpdate := r.(ddb.Update)
	if !isUpdate {
		return do()
	}
	was := m.chain(u.Key.Get("tag").Str())
	a, err := do()
	if a.Held {
		if wrong := m.chained(was, m.chain(u.Key.Get("tag").Str()), a.Item); wrong != nil {
			m.Run.Violation("%w", wrong)
		}
	}
	return a, err
}

// chained checks what a write made of a chain, and puts its record into the stream.
func (m *model) chained(was, is xorack.Chain, image ddb.Item) error {
	c := m.work.claims[is.Tag]
	if c == nil {
		return fmt.Errorf("D2: the chain %s is nobody's claim's", is.Tag)
	}
	c.made = c.made || is.IsCreated() && !was.IsCreated()
	if was.End() == xorack.Open && is.End() != xorack.Open {
		m.work.ends = append(m.work.ends, chainEnd{chain: is, image: image})
		if is.End() == xorack.TimedOut && is.Deadline.After(m.Now.Add(m.Ahead())) {
			return fmt.Errorf("D4: the chain of %v timed out %v too early", c.consumer.Token,
				is.Deadline.Sub(m.Now))
		}
	}
	if is.Sealed() && !was.Sealed() && !c.again { // else it is the first one's end that is sealed
		return m.sealed(c)
	}
	return nil
}

// chainTag is the tag of the chain of a consumer's claim, deferred or not.
func chainTag(c delivery.Consumer) string {
	c.Deferred = true
	return delivery.ChainOf(c)
}
