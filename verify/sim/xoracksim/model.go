// Package xoracksim plugs pkg/xorack into the simulator: its actors are the package's own code, its
// store's requests on [ddb.Memory], and its model checks the acker's invariants after every step.
//
//	A1 done means that every edge that was started has ended
//	A2 an operation that is applied several times counts once
//	A3 the order of operations does not matter
//	A4 an end is permanent, and announced under one id
//	A5 no edge joins after the end
//	L  every chain that was created ends; one whose work was all done is done
//
// and that nothing is sealed before its end was announced, listed where it failed or timed out, and
// carried to its parent, that an open chain is never deleted, that nothing times out before its
// time, and that each answer says what was so; above all, that at most one operation is answered
// that it ended a chain.
package xoracksim

import (
	"context"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

type end struct {
	how   xorack.End
	by    xorack.Op
	sum   xorack.Sum
	edges int64
	ops   int
}

// model is the table, its stream, the messages between the handlers, and all that the invariants
// need to know.
type model struct {
	*world.World
	// store is the table as no process sees it, known what was read of it and stands there still.
	store *xorack.Store
	known map[string]xorack.Chain

	trees []*tree
	// emitted are the nodes whose message is under way, or was.
	emitted []bool
	// stamped are the chains of stamps, by tag: the stamps of their work, and stampsIn how many
	// were said to be in.
	stamped  map[string][]string
	stampsIn map[string]int

	// ends are the ends that were seen, ended by whom they were said to be made, announced what was
	// announced by event id.
	ends      map[*tree]end
	endedBy   map[*tree]xorack.Op
	announced map[string]xorack.End
	// seen are the trees whose chain stands there, or stood there.
	seen map[*tree]bool
	// gone are the trees whose chain was deleted by its expiry, or replaced.
	gone map[*tree]bool
	// dueShards are the parts of the index that chains were ever in, by tag.
	dueShards map[string]ddb.Value
	// records wait for the stream's handler; handled is set when there is one, dropped that the
	// stream lost one.
	records          []record
	handled, dropped bool
	// waiting counts the actors that may still begin an operation, and those that are in one; the
	// handler and the sweep are not among them.
	waiting int
	// past is what reads that are not strong may show still; nil where each shows what stands there.
	past *past.Past
	// alarms are the wake-ups that ackers asked for, where the timer has to be enough; nil elsewhere.
	alarms sim.Alarms
}

// record is one of the table's stream: a chain, and its item.
type record struct {
	xorack.Chain
	image ddb.Item
}

func newModel(run *sim.Run) *model {
	m := &model{
		World: world.New(run, chains, troubleTable), known: map[string]xorack.Chain{},
		stamped: map[string][]string{}, stampsIn: map[string]int{}, ends: map[*tree]end{},
		endedBy:   map[*tree]xorack.Op{},
		announced: map[string]xorack.End{}, seen: map[*tree]bool{}, gone: map[*tree]bool{},
		dueShards: map[string]ddb.Value{},
	}
	m.store = storeOn(m.Tables)
	m.Note(chains.Name, func(c ddb.Change) {
		for _, it := range []ddb.Item{c.Before, c.After} {
			delete(m.known, it.Get("tag").Str())
		}
		m.past.Note(c)
	})
	return m
}

// acker is a process: an Acker on its view of the table.
func (m *model) acker(p *sim.Proc) *xorack.Acker {
	ops := byte(0)
	return sim.Must(xorack.New(m.view(p), &xorack.Options{
		ForEach:   fanout.OneByOne,
		Tombstone: xorack.MinTombstone, Now: m.Clock(p), WakeUp: m.alarms.Set,
		NewOp: func() xorack.Op {
			ops++
			op := xorack.Op{0: ops}
			copy(op[1:], p.Name())
			return op
		},
	}))
}

func (m *model) chain(tag string) xorack.Chain {
	c, known := m.known[tag]
	if !known {
		c, _ = m.store.Chain(context.Background(), tag)
		m.known[tag] = c
	}
	return c
}

// of is the tree of a chain, nil where it has none.
func (m *model) of(c xorack.Chain) *tree {
	for _, t := range m.trees {
		if t.tag == c.Tag && t.inc() == c.Incarnation {
			return t
		}
	}
	return nil
}

// Check implements [sim.Model].
func (m *model) Check() error {
	if !m.Changed {
		return nil
	}
	m.Changed = false
	for _, t := range m.trees {
		if err := m.checkTree(t); err != nil {
			return err
		}
	}
	for tag, stamps := range m.stamped {
		if err := m.checkStamps(m.chain(tag), stamps); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) checkTree(t *tree) error {
	c := m.chain(t.tag)
	was, ended := m.ends[t]
	if !c.Exists() || c.Incarnation != t.inc() {
		if m.seen[t] && !m.gone[t] {
			return fmt.Errorf("the open chain of %s vanished", t.tag)
		}
		return nil
	}
	m.seen[t] = m.seen[t] || c.IsCreated()
	if m.gone[t] && (c.IsCreated() || c.End() != xorack.Open) {
		return fmt.Errorf("A4: the chain of %s lives again", t.tag)
	}
	now := end{c.End(), c.LastOp, c.Sum, c.Edges, len(c.Ops)}
	if ended && now != was {
		return fmt.Errorf("A4, A5: %s ended as %v, and is %v now", t.tag, was, now)
	}
	if err := m.counts(t, c); err != nil {
		return err
	}
	if now.how != xorack.Open {
		m.ends[t] = now
	}
	return nil
}

// counts checks A1 and A2: a chain's counters are those of the operations that it has, and it is
// done when it has all of them.
func (m *model) counts(t *tree, c xorack.Chain) error {
	started, missing := int64(0), 0
	if c.IsCreated() {
		started = int64(len(t.roots))
	}
	for _, n := range t.nodes {
		ended := c.Has(n.edge.Op())
		switch {
		case !ended:
			missing++
		case n.nested != nil && m.chain(n.nested.tag).End() != xorack.Done:
			return fmt.Errorf("A1: %s has ended, and its own chain is %q", n.name(),
				m.chain(n.nested.tag).End())
		default:
			started += int64(len(n.children) - n.added)
		}
	}
	for _, op := range c.Ops {
		if op[0]&0x80 != 0 {
			started += m.addedBy(t, op)
		}
	}
	if c.Edges != started {
		return fmt.Errorf("A2: %s counts %d edges as started, and its operations started %d", t.tag,
			c.Edges, started)
	}
	zero := c.IsCreated() && c.Sum.IsZero()
	if zero != (c.IsCreated() && missing == 0) {
		return fmt.Errorf("A1: %s: %d edges of %d have not ended, zero: %v", t.tag,
			missing, len(t.nodes), zero)
	}
	return nil
}

// addedBy is how many edges an Add started; each node has one batch at most.
func (m *model) addedBy(t *tree, op xorack.Op) int64 {
	for _, n := range t.nodes {
		if n.added > 0 && n.addOp == op {
			return int64(n.added)
		}
	}
	return -1
}

// checkStamps checks a chain of stamps: each stamp counts once, and it is done only when they come
// to zero.
func (m *model) checkStamps(c xorack.Chain, stamps []string) error {
	if !c.Exists() {
		return nil
	}
	if len(c.Stamps) > len(stamps) {
		return fmt.Errorf("A2: %d stamps were made into %d", len(stamps), len(c.Stamps))
	}
	if c.Recorded == xorack.Done && strings.Trim(string(c.XOR()), "\x00") != "" {
		return fmt.Errorf("A1: %s is done with %q", c.Tag, c.XOR())
	}
	return nil
}

// wrote is called after each write that changed a chain.
func (m *model) wrote(before xorack.Chain, after record) {
	m.becameDue(after.image)
	if before.Exists() && before.Incarnation != after.Incarnation &&
		before.Incarnation != (xorack.Incarnation{}) {
		if t := m.of(before); t != nil {
			if before.IsCreated() && !before.Sealed() {
				m.Run.Violation("%s was replaced before it was sealed", t.tag)
			}
			m.gone[t] = true
		}
	}
	if before.End() == xorack.Open && after.Recorded == xorack.TimedOut && before.IsCreated() {
		idle := before.Idle > 0 && !before.Seen.Add(before.Idle).After(m.Now)
		if before.Deadline.After(m.Now) && !idle {
			m.Run.Violation("%s timed out %v before its deadline", after.Tag, before.Deadline.Sub(m.Now))
		}
	}
	if after.Recorded == xorack.Failed && before.End() == xorack.Open && before.Has(after.LastOp) {
		m.Run.Violation("%s failed by an edge that had ended", after.Tag)
	}
	if after.Deadline.Before(before.Deadline) && before.Incarnation == after.Incarnation {
		m.Run.Violation("the deadline of %s went back", after.Tag)
	}
	acked := after.HasStamps() && after.IsCreated() && strings.Trim(string(after.XOR()), "\x00") == ""
	if m.handled && !after.Due.IsZero() && (after.End() != xorack.Open || acked) {
		m.records = append(m.records, after)
	}
}

// checkSeal checks that everything was done for an end that is sealed.
func (m *model) checkSeal(c xorack.Chain) {
	t := m.of(c)
	if t == nil || !t.part {
		if m.announced[c.EventID()] != c.End() {
			m.Run.Violation("%s was sealed as %s, and announced as %q", c.Tag, c.End(),
				m.announced[c.EventID()])
		}
		m.checkListed(c)
	}
	if t == nil || t.parent == nil {
		return
	}
	above := m.chain(t.parent.tree.tag)
	if above.Incarnation == t.parent.tree.inc() && above.End() == xorack.Open &&
		!above.Has(t.parent.edge.Op()) {
		m.Run.Violation("%s was sealed, and its end not carried to %s", c.Tag, above.Tag)
	}
}

// announce passes an end on, as a request that may go wrong.
func (m *model) announce(p *sim.Proc) xorack.Announce {
	return func(_ context.Context, c xorack.Chain) error {
		_, err := sim.Do(p, sim.Labelf("announce %s %s", c.Tag, c.End()), true, func() (bool, error) {
			if was, twice := m.announced[c.EventID()]; twice && was != c.End() {
				m.Run.Violation("A4: %s was announced as %s and as %s", c.Tag, was, c.End())
			}
			if there := m.chain(c.Tag); there.Incarnation == c.Incarnation && there.End() != c.End() {
				m.Run.Violation("A4: %s was announced as %s, and is %s", c.Tag, c.End(), there.End())
			}
			m.announced[c.EventID()] = c.End()
			return true, nil
		})
		return err
	}
}

// becameDue notes which part of the index an item is in.
func (m *model) becameDue(it ddb.Item) {
	tag := it.Get("tag").Str()
	if _, known := m.dueShards[tag]; !known && it.Has("due") && it.Has("dueShard") {
		m.dueShards[tag] = it.Get("dueShard")
	}
}
