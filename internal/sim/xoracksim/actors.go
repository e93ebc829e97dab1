package xoracksim

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// until repeats an operation until it comes to its end, as a message that is
// delivered again does. at tells the operation from others of the actor, and
// is not 0. It reports false after the actor's death.
func until(p *sim.Proc, at int64, do func() error) bool {
	for {
		// What the process was answered matters to nobody: it begins anew.
		p.Forget().Int(at)
		err := do()
		if p.Dead() {
			return false
		}
		if err == nil {
			return true
		}
	}
}

// busy runs an actor that counts as waiting until its end.
func (m *model) busy(name string, body func(*sim.Proc)) {
	m.waiting++
	m.run.Daemon(name, func(p *sim.Proc) {
		body(p)
		if !p.Dead() {
			m.waiting--
		}
	})
}

// create creates a tree's chain and hands its roots on. Where early is true
// they are handed on before that.
func (m *model) create(t *tree, early bool) {
	if early {
		m.emit(t.roots)
	}
	m.busy("create "+t.tag, func(p *sim.Proc) {
		until(p, 1, func() error { return m.createOnce(p, t) })
	})
}

func (m *model) emit(nodes []*node) {
	for _, n := range nodes {
		m.emitted[n.index] = true
	}
}

// createOnce creates a tree's chain; nil where that is settled.
func (m *model) createOnce(p *sim.Proc, t *tree) error {
	created, err := m.acker(p).Create(context.Background(), t.tag, &t.options)
	if p.Dead() {
		return err
	}
	c := m.chain(t.tag)
	switch {
	case errors.Is(err, xorack.ErrTagExists):
		if !t.stranger || c.Incarnation == t.inc() {
			m.run.Violation("the create of %s was refused", t.tag)
		}
		return nil
	case err != nil:
		return m.failed(err)
	}
	m.answered(t, xorack.Op(t.inc()), created.Outcome)
	if created.Outcome == xorack.Applied || created.Outcome == xorack.Ended {
		m.emit(t.roots)
	}
	return nil
}

// failed is an error that must be a simulated one.
func (m *model) failed(err error) error {
	if !errors.Is(err, sim.ErrFault) && !errors.Is(err, sim.ErrDead) {
		m.run.Violation("an operation that is right was refused: %v", err)
	}
	return err
}

// answered checks what an operation was told.
func (m *model) answered(t *tree, op xorack.Op, outcome xorack.Outcome) {
	c := m.chain(t.tag)
	wrong := func(why string) { m.run.Violation("an operation on %s was told %s: %s", t.tag, outcome, why) }
	if c.Incarnation != t.inc() {
		wrong("the chain is another's")
		return
	}
	create := op == xorack.Op(t.inc())
	switch outcome {
	case xorack.Applied:
		if !create && !c.Has(op) || create && !c.IsCreated() {
			wrong("it does not count")
		}
	case xorack.Ended:
		if c.End() == xorack.Open || c.LastOp != op {
			wrong("it did not end the chain")
		}
		if by, told := m.endedBy[t]; told && by != op {
			wrong("another one was told so")
		}
		m.endedBy[t] = op
	case xorack.EdgeEnded:
		if !c.Has(op) {
			wrong("it has not")
		}
	case xorack.AlreadyDone, xorack.AlreadyFailed, xorack.AlreadyTimedOut, xorack.AlreadyDeleted:
		already := map[xorack.Outcome]xorack.End{
			xorack.AlreadyDone: xorack.Done, xorack.AlreadyFailed: xorack.Failed,
			xorack.AlreadyTimedOut: xorack.TimedOut, xorack.AlreadyDeleted: xorack.Deleted,
		}[outcome]
		if c.End() != already || c.Has(op) {
			wrong("the chain is " + string(c.End()) + ", or the operation counts")
		}
	default:
		wrong("nobody knows that outcome")
	}
}

// worker does the work of a node once its message has come, in a process of
// its own: as many work at once as there are messages.
func (m *model) worker(n *node) {
	m.busy(n.name(), func(p *sim.Proc) {
		if p.Choose(sim.Labelf("takes its message"), func() bool { return m.emitted[n.index] }, "") < 0 {
			return
		}
		until(p, 1, func() error { return m.handle(p, n) })
	})
}

// workers do the work of all nodes of trees.
func (m *model) workers(trees ...*tree) {
	for _, t := range trees {
		for _, n := range t.nodes {
			if n.nested == nil || !n.nested.part {
				m.worker(n)
			}
		}
	}
}

// handle is a node's handler.
func (m *model) handle(p *sim.Proc, n *node) error {
	if n.nested != nil {
		return m.createOnce(p, n.nested)
	}
	a, ctx := m.acker(p), context.Background()
	if n.fails {
		return m.told(n, n.edge.Op())(a.Fail(ctx, n.edge, "why"))
	}
	if n.emitsFirst {
		m.emit(n.children)
	}
	if n.added > 0 {
		if err := m.told(n, n.addOp)(a.Add(ctx, n.edge, batch, edges(n.children[:n.added])...)); err != nil {
			return err
		}
		m.emit(n.children[:n.added])
	}
	if n.fan > 0 {
		if err := m.told(n, n.edge.Op())(a.Fan(ctx, n.edge, n.fan)); err != nil {
			return err
		}
		for _, child := range n.children {
			m.emit(child.nested.roots)
		}
		return nil
	}
	if err := m.told(n, n.edge.Op())(a.Done(ctx, n.edge, edges(n.children[n.added:])...)); err != nil {
		return err
	}
	m.emit(n.children)
	return nil
}

// told checks the answer to a node's operation; the error, if any, makes the
// message come again.
func (m *model) told(n *node, op xorack.Op) func(xorack.Result, error) error {
	return func(r xorack.Result, err error) error {
		switch {
		case errors.Is(err, sim.ErrDead):
			return err
		case errors.Is(err, xorack.ErrOtherChain) && n.tree.stranger:
			return nil
		case err != nil:
			return m.failed(err)
		}
		m.answered(n.tree, op, r.Outcome)
		return nil
	}
}

// merger does the work of several nodes of one chain as one write, once all
// their messages have come.
func (m *model) merger(nodes ...*node) {
	m.busy("merger of "+nodes[0].name(), func(p *sim.Proc) {
		ready := func() bool {
			for _, n := range nodes {
				if !m.emitted[n.index] {
					return false
				}
			}
			return true
		}
		if p.Choose(sim.Labelf("takes its messages"), ready, "") < 0 {
			return
		}
		until(p, 1, func() error {
			operations := make([]xorack.Operation, len(nodes))
			for i, n := range nodes {
				operations[i] = xorack.EndOf(n.edge, edges(n.children)...)
			}
			results, errs := m.acker(p).Apply(context.Background(), operations)
			for i, n := range nodes {
				if err := m.told(n, n.edge.Op())(results[i], errs[i]); err != nil {
					return err
				}
				m.emit(n.children)
			}
			return nil
		})
	})
}

// contrary is a second delivery of a node's message whose handler says that it
// failed.
func (m *model) contrary(n *node) {
	other := *n
	other.fails, n.tree.mayFail = true, true
	m.busy("contrary "+n.name(), func(p *sim.Proc) {
		if p.Choose(sim.Labelf("takes its message"), func() bool { return m.emitted[n.index] }, "") < 0 {
			return
		}
		until(p, 1, func() error { return m.handle(p, &other) })
	})
}

// successor creates a chain under a tag that was used before, once the other
// one is gone from the world: its tombstone is over.
func (m *model) successor(t *tree) {
	m.run.Daemon("create "+t.tag+" again", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("begins"), func() bool { return m.now.Sub(start) > xorack.MinTombstone }, "") < 0 {
			return
		}
		if until(p, 1, func() error { return m.createOnce(p, t) }) && m.chain(t.tag).Incarnation == t.inc() {
			until(p, 2, func() error { return m.handle(p, t.roots[0]) })
		}
	})
}

// late repeats a create after all of that: it is told that the tag is taken, or
// how its chain ended.
func (m *model) late(t *tree) {
	m.run.Daemon("create "+t.tag+" very late", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("begins"), func() bool { return m.now.Sub(start) > xorack.MinTombstone && m.chain(t.tag).Exists() }, "") < 0 {
			return
		}
		until(p, 1, func() error { return m.createOnce(p, t) })
	})
}

// redelivery delivers messages once more, at any time: early ones, and very
// late ones. Each is a fault.
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

// handler is the function behind the table's stream: it takes the oldest record
// until that is seen to. The stream may drop a record or hand it out again; the
// handler may die.
func (m *model) handler() {
	m.handled = true
	m.run.Daemon("handler", func(p *sim.Proc) {
		a := m.acker(p)
		for {
			p.Forget()
			way := p.Choose(sim.Labelf("next record"), func() bool { return len(m.records) > 0 }, "", "drops it", "hands it out twice")
			if way < 0 {
				return
			}
			if way == 1 {
				m.records, m.dropped = m.records[1:], true
				continue
			}
			_, err := a.Finish(context.Background(), m.records[0], m.announce(p))
			if p.Dead() {
				return
			}
			if err != nil {
				_ = m.failed(err)
			} else if way == 0 {
				m.records = m.records[1:]
			}
		}
	})
}

// sweeper runs the sweep a number of times.
func (m *model) sweeper(times int) {
	m.run.Go("sweep", func(p *sim.Proc) {
		a := m.acker(p)
		for i := range times {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("begins"), nil, "") < 0 {
				return
			}
			if _, err := a.Sweep(context.Background(), xorack.SweepOptions{Announce: m.announce(p)}); err != nil && !p.Dead() {
				_ = m.failed(err)
			}
			if p.Dead() {
				return
			}
		}
	})
}

// clock lets time pass, a number of times.
func (m *model) clock(times int, step time.Duration) {
	m.run.Go("clock", func(p *sim.Proc) {
		for range times {
			if p.Choose(sim.Labelf("tick"), nil, step.String()) < 0 {
				return
			}
			m.now, m.changed = m.now.Add(step), true
		}
	})
}

// expiry lets the time of a tombstone pass, once nobody can repeat anything any
// more, and deletes what has expired, as TTL does; or leaves it, as TTL does
// for up to two days.
func (m *model) expiry() {
	m.run.Go("expiry", func(p *sim.Proc) {
		chosen := p.Choose(sim.Labelf("a tombstone's time passes"), func() bool { return m.waiting == 0 }, "", "and TTL is late")
		if chosen < 0 {
			return
		}
		m.now, m.changed = m.now.Add(xorack.MinTombstone+time.Second), true
		if chosen == 0 {
			m.expire()
		}
	})
}

// ttl deletes what has expired, at any time, a number of times.
func (m *model) ttl(times int) {
	m.run.Go("TTL", func(p *sim.Proc) {
		for range times {
			if p.Choose(sim.Labelf("deletes"), nil, "") < 0 {
				return
			}
			m.changed = true
			m.expire()
		}
	})
}

// expire deletes what has expired.
func (m *model) expire() {
	before := map[*tree]xorack.Chain{}
	for _, t := range m.trees {
		before[t] = m.chain(t.tag)
	}
	m.memory.Expire(m.now)
	for t, c := range before {
		if m.chain(t.tag).Exists() || c.Incarnation != t.inc() {
			continue
		}
		if c.IsCreated() && !c.Sealed() {
			m.run.Violation("the chain of %s was deleted before it was sealed", t.tag)
		}
		m.gone[t] = true
	}
}

// extender sets a later deadline.
func (m *model) extender(t *tree, by time.Duration) {
	m.busy("extend "+t.tag, func(p *sim.Proc) {
		until(p, 1, func() error {
			deadline := m.now.Add(by)
			r, err := m.acker(p).Extend(context.Background(), t.roots[0].edge, deadline)
			if errors.Is(err, xorack.ErrTagNotFound) && !m.seen[t] {
				return nil
			}
			if err != nil {
				return m.failed(err)
			}
			if r.Outcome == xorack.Applied && (r.Chain.End() != xorack.Open || r.Chain.Deadline.Before(deadline)) {
				m.run.Violation("%s was not extended", t.tag)
			}
			return nil
		})
	})
}

// abandoner gives a chain up.
func (m *model) abandoner(t *tree) {
	t.mayFail = true
	m.busy("abandon "+t.tag, func(p *sim.Proc) {
		until(p, 1, func() error {
			now := m.now
			c, err := m.acker(p).Abandon(context.Background(), t.roots[0].edge, "", "gave up")
			if err != nil {
				return m.failed(err)
			}
			if c.End() == xorack.Open && !c.Deadline.After(now) {
				m.run.Violation("%s was not given up", t.tag)
			}
			return nil
		})
	})
}

// deleter deletes a chain.
func (m *model) deleter(t *tree) {
	t.mayFail = true
	m.busy("delete "+t.tag, func(p *sim.Proc) {
		until(p, 1, func() error {
			r, err := m.acker(p).Delete(context.Background(), t.tag)
			if errors.Is(err, xorack.ErrTagNotFound) {
				return nil
			}
			if err != nil {
				return m.failed(err)
			}
			if r.Chain.End() == xorack.Open {
				m.run.Violation("%s was not deleted", t.tag)
			}
			return nil
		})
	})
}

// stamper stamps a chain of stamps with one of its work's stamps, and comes
// again until it has; the first one creates the chain.
func (m *model) stamper(tag string, at int) {
	m.busy("stamp "+tag+m.stamped[tag][at], func(p *sim.Proc) {
		until(p, 1, func() error { return m.stamp(p, tag, at) })
	})
}

// stampOnce is a stamper that does not come again, whatever becomes of it.
func (m *model) stampOnce(tag string, at int) {
	m.run.Go("stamp once "+tag+m.stamped[tag][at], func(p *sim.Proc) { _ = m.stamp(p, tag, at) })
}

func (m *model) stamp(p *sim.Proc, tag string, at int) error {
	s, err := xorack.NewStamper(&store{m, p}, m.options(p))
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	stamp, options := []byte(m.stamped[tag][at]), &xorack.StampOptions{ID: string(rune('a' + at))}
	state, err := xorack.State{}, error(nil)
	if at == 0 {
		state, err = s.Create(context.Background(), tag, stamp, options)
	} else {
		state, err = s.Stamp(context.Background(), tag, stamp, options)
	}
	if err != nil {
		return m.failed(err)
	}
	m.stampsIn[tag]++
	if state.Outcome == xorack.Ended && m.chain(tag).Recorded != xorack.Done {
		m.run.Violation("%s was told ended, and is not", tag)
	}
	return nil
}
