package xoracksim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Final implements [sim.Model].
func (m *model) Final() error {
	if m.handled && !m.dropped {
		// The stream's handler has seen every record: nothing is left for the
		// sweep but time.
		if err := m.settled("the stream's handler"); err != nil {
			return err
		}
	}
	// Within its own time the sweep finds every end whose record was lost, and
	// the ends that follow from it: five levels of chains here at most.
	for range 5 {
		m.now = m.now.Add(20 * time.Minute)
		if err := m.sweep(); err != nil {
			return err
		}
	}
	if err := m.settled("the sweep"); err != nil {
		return err
	}
	// And in the end every chain that was created ends.
	for range 3 {
		m.now = m.now.Add(xorack.MaxDeadline + 24*time.Hour)
		if err := m.sweep(); err != nil {
			return err
		}
	}
	for _, t := range m.trees {
		c := m.chain(t.tag)
		if c.Incarnation == t.inc() && c.IsCreated() && !c.Sealed() {
			return fmt.Errorf("liveness: %s is %q, and not sealed", t.tag, c.End())
		}
		if how, ended := m.ends[t]; ended && m.announcedOf(t) != how.how {
			return fmt.Errorf("liveness: %s ended as %s, and was announced as %q", t.tag, how.how, m.announcedOf(t))
		}
	}
	for tag := range m.stamped {
		if c := m.chain(tag); c.IsCreated() && !c.Sealed() {
			return fmt.Errorf("liveness: %s is %q, and not sealed", tag, c.End())
		}
	}
	return nil
}

// announcedOf is how a tree's chain was announced; as it ended, for a part of
// a fan, which is not.
func (m *model) announcedOf(t *tree) xorack.End {
	if t.part {
		return m.ends[t].how
	}
	return m.announced[xorack.Chain{Tag: t.tag, Incarnation: t.inc()}.EventID()]
}

// sweep runs one sweep, in which nothing goes wrong.
func (m *model) sweep() error {
	a, err := xorack.New(&watched{&m.memory, m}, &xorack.Options{
		Tombstone: 365 * 24 * time.Hour, Now: func() time.Time { return m.now },
	})
	if err != nil {
		return err
	}
	_, err = a.Sweep(&limited{Context: context.Background(), left: 10_000}, xorack.SweepOptions{
		Announce: func(_ context.Context, c xorack.Chain) error {
			if was, twice := m.announced[c.EventID()]; twice && was != c.End() {
				return fmt.Errorf("A4: %s was announced as %s and as %s", c.Tag, was, c.End())
			}
			m.announced[c.EventID()] = c.End()
			return nil
		},
	})
	if err != nil {
		return err
	}
	m.changed = true
	return m.Check()
}

// settled checks that all chains whose work was all done are done.
func (m *model) settled(by string) error {
	for _, t := range m.trees {
		c := m.chain(t.tag)
		if t.stranger || t.mayFail || c.Incarnation != t.inc() || !c.IsCreated() {
			continue
		}
		if c.End() != xorack.Done && c.End() != xorack.TimedOut {
			return fmt.Errorf("liveness: after %s %s is %q, and its work was all done", by, t.tag, c.End())
		}
		if !c.Sealed() {
			return fmt.Errorf("liveness: after %s %s is %s, and not sealed", by, t.tag, c.End())
		}
	}
	for tag, stamps := range m.stamped {
		c := m.chain(tag)
		if c.IsCreated() && c.Recorded == xorack.Open && max(m.stampsIn[tag], len(c.Stamps)) == len(stamps) {
			return fmt.Errorf("liveness: after %s %s is open, and its stamps are all there", by, tag)
		}
	}
	return nil
}

// limited is a context that ends after a number of requests: what goes on
// without end is found that way.
type limited struct {
	context.Context
	left int
}

// Err implements [context.Context].
func (l *limited) Err() error {
	if l.left--; l.left < 0 {
		return errors.New("no end after so many requests")
	}
	return nil
}

// watched is the memory, with the checks of a seal and of a time-out.
type watched struct {
	*xorack.Memory
	model *model
}

func (w *watched) Seal(ctx context.Context, tag string, inc xorack.Incarnation, ended, expires time.Time) (xorack.Chain, bool, error) {
	before := w.model.chain(tag)
	c, sealed, err := w.Memory.Seal(ctx, tag, inc, ended, expires)
	if sealed {
		w.model.checkSeal(before)
	}
	if err == nil {
		err = w.model.run.Err()
	}
	return c, sealed, err
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.now.UnixMilli())
	d.Bool(m.dropped)
	d.Int(int64(m.waiting))
	for _, emitted := range m.emitted {
		d.Bool(emitted)
	}
	for _, tag := range m.memory.Tags() {
		d.Text(tag)
		hashChain(d, m.chain(tag))
	}
	d.Int(int64(len(m.records)))
	for _, c := range m.records {
		d.Text(c.Tag)
		hashChain(d, c)
	}
	for _, t := range m.trees {
		d.Text(string(m.ends[t].how))
		by := m.endedBy[t]
		d.Text(string(by[:]))
		d.Text(string(m.announcedOf(t)))
		d.Bool(m.seen[t])
		d.Bool(m.gone[t])
	}
	for _, tag := range slices.Sorted(stampedTags(m)) {
		c := m.chain(tag)
		d.Int(int64(m.stampsIn[tag]))
		d.Text(string(m.announced[c.EventID()]))
	}
}

func stampedTags(m *model) func(func(string) bool) {
	return func(yield func(string) bool) {
		for tag := range m.stamped {
			if !yield(tag) {
				return
			}
		}
	}
}

// chainText is a chain in a trace.
func chainText(c xorack.Chain) string {
	if !c.Exists() {
		return "nothing"
	}
	how := c.End()
	if how == xorack.Open {
		how = "open"
	}
	return fmt.Sprintf("%s %s, created %v, %d of %d edges, %d stamps, due %v",
		c.Incarnation, how, c.IsCreated(), c.EdgesEnded(), c.Edges, len(c.Stamps), !c.Due.IsZero())
}

// opsText names operations in a trace.
func (m *model) opsText(ops []xorack.Op) string {
	var names []string
	for _, op := range ops {
		name := op.String()
		for _, t := range m.trees {
			for _, n := range t.nodes {
				switch op {
				case n.edge.Op():
					name = n.name()
				case n.addOp:
					name = "add of " + n.name()
				}
			}
		}
		names = append(names, name)
	}
	if len(names) > 5 {
		names = append(names[:5], "…")
	}
	return strings.Join(names, " ")
}
