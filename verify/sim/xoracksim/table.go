package xoracksim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// handler is the function behind the table's stream: it takes the oldest record until that is
// handled. The stream may drop a record or hand it out again; the handler may die.
func handler(m *model) {
	m.handled = true
	ready := func() bool { return len(m.records) > 0 }
	m.Serves("handler", sim.Labelf("next record"), ready, func(p *sim.Proc) func(int) {
		a := m.acker(p)
		return func(way int) {
			if way == 1 {
				m.records, m.dropped = m.records[1:], true
				return
			}
			p.Invoke()
			_, err := a.Finish(context.Background(), m.records[0].Chain, m.listed(p))
			switch {
			case p.Dead():
			case err != nil:
				_ = m.failed(err)
			case way == 0:
				m.records = m.records[1:]
			}
		}
	}, "", "drops it", "hands it out twice")
}

func (m *model) sweeper(times int) {
	m.Turns("sweep", times, sim.Labelf("begins"), nil, func(p *sim.Proc) func(int) {
		a := m.acker(p)
		return func(int) {
			if _, err := a.Sweep(context.Background(), m.listed(p)); err != nil && !p.Dead() {
				_ = m.failed(err)
			}
		}
	})
}

// timer wakes chains up, each at any moment: a wake-up that comes too early or too late, twice, or
// not at all, and one for a chain that nobody knows.
func (m *model) timer(tags ...string) {
	m.Turns("timer", len(tags), sim.Labelf("wake one of %v", tags), nil, func(p *sim.Proc) func(int) {
		a := m.acker(p)
		return func(i int) {
			if _, _, err := a.Wake(context.Background(), tags[i], m.listed(p)); err != nil && !p.Dead() {
				_ = m.failed(err)
			}
		}
	})
}

// expiry lets the time of a tombstone pass, once nobody can repeat anything any more, and deletes
// what has expired, as TTL does; or leaves it, as TTL does for up to two days.
func (m *model) expiry() {
	m.Run.Go("expiry", func(p *sim.Proc) {
		chosen := p.Choose(sim.Labelf("a tombstone's time passes"), func() bool {
			return m.waiting == 0
		}, "", "and TTL is late")
		if chosen < 0 {
			return
		}
		m.Now, m.Changed = m.Now.Add(xorack.MinTombstone+time.Second), true
		if chosen == 0 {
			m.expire()
		}
	})
}

// ttl deletes what has expired, at any time.
func ttl(m *model) {
	m.Step("TTL", sim.Labelf("deletes"), nil, func() {
		m.Changed = true
		m.expire()
	})
}

func (m *model) expire() {
	before := map[*tree]xorack.Chain{}
	for _, t := range m.trees {
		before[t] = m.chain(t.tag)
	}
	m.Tables.Expire(m.Now)
	for t, c := range before {
		if m.chain(t.tag).Exists() || c.Incarnation != t.inc() {
			continue
		}
		if c.IsCreated() && !c.Sealed() {
			m.Run.Violation("the chain of %s was deleted before it was sealed", t.tag)
		}
		m.gone[t] = true
	}
}
