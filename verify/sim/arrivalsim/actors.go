package arrivalsim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
)

// request is messages of a producer that have one id.
type request struct {
	id       string
	messages []cursor.Message
}

// call is one call of a producer: a group of requests.
type call []request

// one is a request of n messages. The payload distinguishes two under one id.
func one(id, payload string, n int) request {
	r := request{id: id}
	for i := range n {
		r.messages = append(r.messages, cursor.Message{Queue: queue, Seq: cursor.NoSeq, PutID: id, Body: fmt.Appendf(nil, "%s%d%s", id, i, payload)})
	}
	return r
}

// calls are appends of one message each.
func calls(ids ...string) []call {
	list := make([]call, len(ids))
	for i, id := range ids {
		list[i] = call{one(id, "", 1)}
	}
	return list
}

// patience is how often a producer gives a call that failed.
const patience = 2

// producer makes its calls one after the other, in one process, and repeats one
// that failed.
func (m *model) producer(name string, list ...call) {
	m.know(list)
	m.run.Go(name, func(p *sim.Proc) {
		s := m.process(p)
		for _, c := range list {
			if m.keep > 0 && p.Choose(sim.Labelf("next call"), nil, "") < 0 {
				return
			}
			for attempt := 0; attempt < patience && !m.call(p, s, c); attempt++ {
				if p.Dead() {
					return
				}
			}
		}
	})
}

// know notes the ids of calls.
func (m *model) know(list []call) {
	for _, c := range list {
		for _, a := range c {
			if !slices.Contains(m.ids, a.id) {
				m.ids = append(m.ids, a.id)
			}
		}
	}
}

// call makes one call and checks its answers; false where it has to be repeated.
func (m *model) call(p *sim.Proc, s *cursor.Sorter, c call) bool {
	m.running++
	defer func() { m.running-- }()
	var messages []cursor.Message
	for _, a := range c {
		m.attempts[a.id]++
		messages = append(messages, a.messages...)
	}
	results := s.Put(context.Background(), messages...)
	if p.Dead() {
		return false
	}
	known, last := true, int64(0)
	for _, a := range c {
		r, n := results[0], len(a.messages)
		if r.Err != nil {
			if !logsim.IsFault(r.Err) {
				m.run.Violation("S6: %s got an error that no fault made: %v", a.id, r.Err)
			}
			known = false
		} else {
			m.checkAnswer(a, results[:n])
			if r.Outcome == cursor.Advanced && len(r.Moves) > 0 {
				if r.Seq <= last {
					m.run.Violation("%s came behind others of its call, and got %d", a.id, r.Seq)
				}
				last = results[n-1].Seq
			}
		}
		results = results[n:]
	}
	return known
}

// others append so many messages of their own, in each of so many steps.
func (m *model) others(steps, entries int) {
	m.run.Go("others", func(p *sim.Proc) {
		for i := range steps {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("%d messages", entries), func() bool {
				return m.cursor().Tail.Len()+entries <= queuelog.MaxTail
			}, "") < 0 {
				return
			}
			m.crowd(fmt.Sprint("other", i, "."), entries)
		}
	})
}

// turnover has others fill the tail and flush it, so many times, in one step.
func (m *model) turnover(times int) {
	m.run.Go("turnover", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("%d order items", times), nil, "") < 0 {
			return
		}
		for i := range times {
			if missing := queuelog.OrderItemEntries - m.cursor().Tail.Len(); missing > 0 {
				m.crowd(fmt.Sprint("turnover", i, "."), missing)
			}
			m.flushed()
		}
	})
}

// reader reads what has come, so many times, each time in a process that knows nothing.
func (m *model) reader(times int) {
	m.reads = true
	r := logsim.Reader{
		Run: m.run, Queue: queue, Position: func() int64 { return m.cursor().Position }, Sorter: m.process, Take: m.read,
		Delivered: &m.delivered, Running: &m.running,
	}
	r.Go(times)
}

// keeper lets time pass, so many times, keeps what is undelivered as the sweep
// does, and deletes what has expired.
func (m *model) keeper(times int, step time.Duration) {
	m.run.Go("keeper", func(p *sim.Proc) {
		s := m.process(p)
		for range times {
			if p.Choose(sim.Labelf("tick"), func() bool { return m.running == 0 }, step.String()) < 0 {
				return
			}
			m.now, m.changed = m.now.Add(step), true
			m.running++
			failed := false
			for attempt := 0; attempt < patience; attempt++ {
				_, err := s.Inside(queuelog.Inside{}).KeepUndelivered(context.Background(), queue, m.delivered)
				if failed = err != nil; p.Dead() || !failed {
					break
				}
			}
			m.running--
			if p.Dead() || failed {
				return // a sweep that does not run is an alarm
			}
			m.store.Expire(m.now)
			m.changed = true
		}
	})
}
