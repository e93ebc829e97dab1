package xoracksim

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// handler is the function behind the table's stream: it takes the oldest record
// until that is handled. The stream may drop a record or hand it out again; the
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
			p.Invoke()
			_, err := a.Finish(context.Background(), m.records[0].Chain, m.listed(p))
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
			if _, err := a.Sweep(context.Background(), xorack.SweepOptions{Announce: m.listed(p)}); err != nil && !p.Dead() {
				_ = m.failed(err)
			}
			if p.Dead() {
				return
			}
		}
	})
}

// timer wakes chains up, each at any moment: a wake-up that comes too early or too late,
// twice, or not at all, and one for a chain that nobody knows.
func (m *model) timer(tags ...string) {
	m.run.Go("timer", func(p *sim.Proc) {
		a := m.acker(p)
		for i, tag := range tags {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("wake %s", tag), nil, "") < 0 {
				return
			}
			if _, _, err := a.Wake(context.Background(), tag, xorack.SweepOptions{Announce: m.listed(p)}); err != nil && !p.Dead() {
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
	m.run.Clock(&m.now, nil, slices.Repeat([]time.Duration{step}, times)...)
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
