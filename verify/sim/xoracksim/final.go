package xoracksim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// Final implements [sim.Model].
func (m *model) Final() error {
	if m.handled && !m.dropped {
		// The stream's handler has seen every record: nothing is left for the sweep but time.
		if err := m.settled("the stream's handler"); err != nil {
			return err
		}
	}
	if err := m.byTimer(); err != nil {
		return err
	}
	// Within its own time the sweep finds every end whose record was lost, and the ends that follow
	// from it: five levels of chains here at most.
	for range 5 {
		m.Now = m.Now.Add(20 * time.Minute)
		if err := m.sweep(); err != nil {
			return err
		}
	}
	if err := m.settled("the sweep"); err != nil {
		return err
	}
	// And in the end every chain that was created ends.
	for range 3 {
		m.Now = m.Now.Add(xorack.MaxDeadline + 24*time.Hour)
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
			return fmt.Errorf("liveness: %s ended as %s, and was announced as %q", t.tag, how.how,
				m.announcedOf(t))
		}
	}
	for tag := range m.stamped {
		if c := m.chain(tag); c.IsCreated() && !c.Sealed() {
			return fmt.Errorf("liveness: %s is %q, and not sealed", tag, c.End())
		}
	}
	return nil
}

// announcedOf is how a tree's chain was announced; as it ended, for a part of a fan, which is not.
func (m *model) announcedOf(t *tree) xorack.End {
	if t.part {
		return m.ends[t].how
	}
	return m.announced[xorack.Chain{Tag: t.tag, Incarnation: t.inc()}.EventID()]
}

// final is a process with which nothing goes wrong. What it seals outlasts all time that passes.
func (m *model) final() *xorack.Acker {
	return sim.Must(xorack.New(m.view(nil), &xorack.Options{
		ForEach:   fanout.OneByOne,
		Tombstone: 365 * 24 * time.Hour, Now: m.Clock(nil), WakeUp: m.alarms.Set,
	}))
}

// sweep runs one sweep, in which nothing goes wrong.
func (m *model) sweep() error {
	if _, err := m.final().Sweep(world.Limited(10_000), m.listed(nil)); err != nil {
		return err
	}
	return errors.Join(m.Run.Err(), m.Check())
}

// byTimer checks that no sweep is needed where each wake-up comes: every chain has ended.
func (m *model) byTimer() error {
	if m.alarms == nil {
		return nil
	}
	a := m.final()
	if err := m.alarms.Run(&m.Now, func(tag string) (time.Time, error) {
		_, next, err := a.Wake(context.Background(), tag, m.listed(nil))
		return next, err
	}); err != nil {
		return err
	}
	for _, t := range m.trees {
		if c := m.chain(t.tag); c.IsCreated() && !c.Sealed() {
			return fmt.Errorf("timer: every wake-up came, and %s is %q, and not sealed", t.tag, c.End())
		}
	}
	return errors.Join(m.Run.Err(), m.Check())
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
		if c.IsCreated() && c.Recorded == xorack.Open &&
			max(m.stampsIn[tag], len(c.Stamps)) == len(stamps) {
			return fmt.Errorf("liveness: after %s %s is open, and its stamps are all there", by, tag)
		}
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	sim.Feed(d, m.Now, m.dropped, m.waiting, fmt.Sprint(m.emitted))
	m.Tables.Snapshot(d)
	m.past.Snapshot(d)
	d.Int(int64(len(m.records)))
	for _, r := range m.records {
		d.Digest(r.image.Digest())
	}
	for _, t := range m.trees {
		by := m.endedBy[t]
		sim.Feed(d, string(m.ends[t].how), string(by[:]), string(m.announcedOf(t)), m.seen[t], m.gone[t])
	}
	for _, tag := range slices.Sorted(maps.Keys(m.stamped)) {
		c := m.chain(tag)
		sim.Feed(d, m.stampsIn[tag], string(m.announced[c.EventID()]))
	}
	m.alarms.Hash(d)
}
