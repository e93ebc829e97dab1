package xoracksim

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// contrary is a second delivery of a node's message whose handler says that it failed.
func (m *model) contrary(n *node) {
	other := *n
	other.fails, n.tree.mayFail = true, true
	m.workerOf("contrary "+n.name(), &other)
}

// successor creates a chain under a tag that was used before, once the other one is gone from the
// world: its tombstone is over.
func (m *model) successor(t *tree) {
	m.Run.Daemon("create "+t.tag+" again", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("begins"), func() bool {
			return m.Now.Sub(world.Start) > xorack.MinTombstone
		}, "") < 0 {
			return
		}
		if until(p, 1, func() error {
			return m.createOnce(p, t)
		}) && m.chain(t.tag).Incarnation == t.inc() {
			until(p, 2, func() error { return m.handle(p, t.roots[0]) })
		}
	})
}

// late repeats a create after all of that: it learns that the tag is taken, or how its chain ended.
func (m *model) late(t *tree) {
	m.Run.Daemon("create "+t.tag+" very late", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("begins"), func() bool {
			return m.Now.Sub(world.Start) > xorack.MinTombstone && m.chain(t.tag).Exists()
		}, "") < 0 {
			return
		}
		until(p, 1, func() error { return m.createOnce(p, t) })
	})
}

// redelivery delivers messages once more, at any time: early ones, and very late ones. Each is a
// fault.
func (m *model) redelivery(trees ...*tree) {
	names := []string{"none"}
	var again []func(*sim.Proc) error
	for _, t := range trees {
		names = append(names, "create "+t.tag)
		again = append(again, func(p *sim.Proc) error { return m.createOnce(p, t) })
		for _, n := range t.nodes {
			if n.nested == nil {
				names = append(names, n.name())
				again = append(again, func(p *sim.Proc) error { return m.handle(p, n) })
			}
		}
	}
	m.busy("redelivery", func(p *sim.Proc) {
		for {
			p.Forget()
			chosen := p.Choose(sim.Labelf("delivers again:"), nil, names...)
			if chosen <= 0 || !until(p, int64(chosen), func() error { return again[chosen-1](p) }) {
				return
			}
		}
	})
}

func (m *model) extender(t *tree, by time.Duration) {
	m.insists("extend "+t.tag, "", nil, func(p *sim.Proc) error {
		deadline := m.Clock(p)().Add(by)
		r, err := m.acker(p).Extend(context.Background(), t.roots[0].edge, deadline)
		if errors.Is(err, xorack.ErrTagNotFound) && !m.seen[t] {
			return nil
		}
		if err != nil {
			return m.failed(err)
		}
		if r.Outcome == xorack.Applied &&
			(r.Chain.End() != xorack.Open || r.Chain.Deadline.Before(deadline)) {
			m.Run.Violation("%s was not extended", t.tag)
		}
		return nil
	})
}

func (m *model) deleter(t *tree) {
	t.mayFail = true
	m.insists("delete "+t.tag, "", nil, func(p *sim.Proc) error {
		r, err := m.acker(p).Delete(context.Background(), t.tag)
		if errors.Is(err, xorack.ErrTagNotFound) {
			return nil
		}
		if err != nil {
			return m.failed(err)
		}
		if r.Chain.End() == xorack.Open {
			m.Run.Violation("%s was not deleted", t.tag)
		}
		return nil
	})
}
