package xoracksim

import (
	"context"
	"errors"
	"slices"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
	"github.com/streamsort/streamsort/verify/sim"
)

// until repeats an operation until it comes to its end, as a message that is delivered again does.
// at distinguishes the operation from others of the actor, and is not 0. It reports false after the
// actor's death.
func until(p *sim.Proc, at int64, do func() error) bool {
	for {
		// What the process was answered matters to nobody: it begins anew.
		p.Forget().Int(at)
		p.Invoke()
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
	m.Run.Daemon(name, func(p *sim.Proc) {
		body(p)
		if !p.Dead() {
			m.waiting--
		}
	})
}

// insists does something in an actor that counts as waiting, once it is ready, until it comes to
// its end; with no label, at once.
func (m *model) insists(name, label string, ready func() bool, do func(*sim.Proc) error) {
	m.busy(name, func(p *sim.Proc) {
		if label == "" || p.Choose(sim.Labelf("%s", label), ready, "") == 0 {
			until(p, 1, func() error { return do(p) })
		}
	})
}

// create creates a tree's chain and passes its roots on. Where early is true they are passed on
// before that.
func (m *model) create(t *tree, early bool) {
	if early {
		m.emit(t.roots)
	}
	m.insists("create "+t.tag, "", nil, func(p *sim.Proc) error { return m.createOnce(p, t) })
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
			m.Run.Violation("the create of %s was refused", t.tag)
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
		m.Run.Violation("an operation that is right was refused: %v", err)
	}
	return err
}

// answered checks what an operation was answered.
func (m *model) answered(t *tree, op xorack.Op, outcome xorack.Outcome) {
	c := m.chain(t.tag)
	wrong := func(why string) {
		m.Run.Violation("an operation on %s was answered %s: %s", t.tag, outcome, why)
	}
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
		if by, ended := m.endedBy[t]; ended && by != op {
			wrong("another one was answered so")
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

// worker does the work of a node once its message has come, in a process of its own: as many work
// at once as there are messages.
func (m *model) worker(n *node) { m.workerOf(n.name(), n) }

func (m *model) workerOf(name string, n *node) {
	m.insists(name, "takes its message", func() bool { return m.emitted[n.index] },
		func(p *sim.Proc) error { return m.handle(p, n) })
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
		return m.checked(n, n.edge.Op())(a.Fail(ctx, n.edge, "why"))
	}
	if n.emitsFirst {
		m.emit(n.children)
	}
	if n.added > 0 {
		if err := m.checked(n,
			n.addOp)(a.Add(ctx, n.edge, batch, edges(n.children[:n.added])...)); err != nil {
			return err
		}
		m.emit(n.children[:n.added])
	}
	if n.fan > 0 {
		if err := m.checked(n, n.edge.Op())(a.Fan(ctx, n.edge, n.fan)); err != nil {
			return err
		}
		for _, child := range n.children {
			m.emit(child.nested.roots)
		}
		return nil
	}
	if err := m.checked(n,
		n.edge.Op())(a.Done(ctx, n.edge, edges(n.children[n.added:])...)); err != nil {
		return err
	}
	m.emit(n.children)
	return nil
}

// checked checks the answer to a node's operation; the error, if any, makes the message come again.
func (m *model) checked(n *node, op xorack.Op) func(xorack.Result, error) error {
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

// merger does the work of several nodes of one chain as one write, once all their messages have
// come.
func (m *model) merger(nodes ...*node) {
	ready := func() bool {
		return !slices.ContainsFunc(nodes, func(n *node) bool { return !m.emitted[n.index] })
	}
	m.insists("merger of "+nodes[0].name(), "takes its messages", ready, func(p *sim.Proc) error {
		operations := make([]xorack.Operation, len(nodes))
		for i, n := range nodes {
			operations[i] = xorack.EndOf(n.edge, edges(n.children)...)
		}
		results, errs := m.acker(p).Apply(context.Background(), operations)
		for i, n := range nodes {
			if err := m.checked(n, n.edge.Op())(results[i], errs[i]); err != nil {
				return err
			}
			m.emit(n.children)
		}
		return nil
	})
}

// stamper stamps a chain of stamps with one of its work's stamps, and comes again until it has; the
// first one creates the chain.
func (m *model) stamper(tag string, at int) {
	m.insists("stamp "+tag+m.stamped[tag][at], "", nil,
		func(p *sim.Proc) error { return m.stamp(p, tag, at) })
}

// stampOnce is a stamper that does not come again, whatever becomes of it.
func (m *model) stampOnce(tag string, at int) {
	m.Run.Go("stamp once "+tag+m.stamped[tag][at], func(p *sim.Proc) { _ = m.stamp(p, tag, at) })
}

func (m *model) stamp(p *sim.Proc, tag string, at int) error {
	s := stamps.New(m.acker(p))
	stamp, options := []byte(m.stamped[tag][at]), &stamps.Options{ID: string(rune('a' + at))}
	does := s.Stamp
	if at == 0 {
		does = s.Create
	}
	state, err := does(context.Background(), tag, stamp, options)
	if err != nil {
		return m.failed(err)
	}
	m.stampsIn[tag]++
	if state.Outcome == xorack.Ended && m.chain(tag).Recorded != xorack.Done {
		m.Run.Violation("%s was answered ended, and is not", tag)
	}
	return nil
}
