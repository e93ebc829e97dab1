package logsim

import (
	"context"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// request is messages of a producer that are answered together: those of one PutID, or one.
type request struct {
	messages []cursor.Message
	// received: its key is the time of the call that brings it.
	received bool
}

// call is one call of a producer: a group of requests.
type call []request

// name identifies the request among all: by its id in arrival order; by all of it in a keyed queue,
// and where it says its seq.
func (r request) name() string {
	m := r.messages[0]
	switch {
	case m.PutID != "":
		return m.PutID
	case m.Seq > 0:
		return string(m.Body)
	}
	return fmt.Sprint(m.KeyParts[0], m.ID, string(m.Body), m.Prev)
}

func (r request) bodies() []string {
	all := make([]string, len(r.messages))
	for i, m := range r.messages {
		all[i] = string(m.Body)
	}
	return all
}

// patience is how often a producer gives a call that failed.
const patience = 2

// producer makes its calls one after the other, in one process, and repeats one that failed.
func (m *model) producer(name string, list ...call) {
	m.Run.Go(name, func(p *sim.Proc) {
		s := m.process(p)
		for _, c := range list {
			if (m.keep > 0 || m.pauses) && p.Choose(sim.Labelf("next call"), nil, "") < 0 {
				return
			}
			p.Knows().Int(m.Now.UnixMilli())
			for attempt := 0; attempt < patience && !m.call(p, s, c); attempt++ {
				if p.Dead() {
					return
				}
			}
		}
	})
}

// asked is what held when a call began.
type asked struct {
	position           int64
	restores, expiries int
}

// call makes one call and checks its answers; false where it has to be repeated.
func (m *model) call(p *sim.Proc, s *cursor.Sorter, c call) bool {
	m.Running++
	defer func() { m.Running-- }()
	began := asked{restores: m.restores, expiries: m.expiries}
	var messages []cursor.Message
	for _, r := range c {
		messages = append(messages, m.sending(p, r)...)
	}
	if messages[0].Seq > 0 {
		began.position = m.end()
		p.Knows().Int(began.position)
	}
	results := s.Put(context.Background(), messages...)
	if p.Dead() {
		return false
	}
	known, last := true, int64(0)
	for _, r := range c {
		own := results[:len(r.messages)]
		results = results[len(own):]
		if err := own[0].Err; err != nil {
			m.OnlyFaults(p, r.name(), err)
			known = false
			continue
		}
		m.answered(r, own, began)
		if r.messages[0].PutID != "" && own[0].Outcome == cursor.Advanced && len(own[0].Moves) > 0 {
			if own[0].Seq <= last {
				m.Run.Violation("%s came behind others of its call, and got %d", r.name(), own[0].Seq)
			}
			last = own[len(own)-1].Seq
		}
	}
	return known
}

// sending notes that a request is given to a put, and returns its messages.
func (m *model) sending(p *sim.Proc, r request) []cursor.Message {
	m.attempts[r.name()]++
	if r.received {
		at := r.messages[0]
		at.KeyParts = []any{sortkey.Received(m.Now)}
		p.Knows().Int(m.Now.UnixMilli())
		return []cursor.Message{at}
	}
	if m.keyed() {
		if key := m.sortKey(r); m.sent[key].IsZero() {
			m.sent[key] = m.Now
		}
	}
	return r.messages
}

// early is an append that was made before the run.
func (m *model) early(id string) {
	r := together(id, "", 1)
	m.attempts[id]++
	sim.Must(0, m.process(nil).Put(context.Background(), r.messages...)[0].Err)
	m.note()
}

// settler settles the queue up to a sort key, so many times. One that is killed is followed by
// another.
func (m *model) settler(name string, times int, upTo sortkey.SortKey) {
	for i := range times {
		m.Run.Daemon(fmt.Sprint(name, i), func(p *sim.Proc) {
			if p.Choose(sim.Labelf("settle up to %x", upTo), func() bool {
				return m.cursor().Exists()
			}, "") < 0 {
				return
			}
			p.Knows().Int(m.Now.UnixMilli())
			p.Invoke()
			m.Running++
			due := m.dueAt(m.Now.Add(m.Clocks[p.Name()]), upTo)
			done, err := m.process(p).Settle(context.Background(), queue, upTo)
			m.Running--
			for _, a := range due {
				if err == nil && !done.More && !p.Dead() && a.seq == 0 && m.stored[a.key] == a &&
					m.restores == 0 {
					m.Run.Violation("K-a: a settle ended well, and %s was due before it began", a.id)
				}
			}
			m.OnlyFaults(p, "a settler", err)
			p.Forget()
		})
	}
}

// restarter has the keys begin anew, once, and repeats an order that failed.
func (m *model) restarter(name string) {
	m.Run.Go(name, func(p *sim.Proc) {
		if p.Choose(sim.Labelf("the keys begin anew"), func() bool {
			return m.cursor().Exists()
		}, "") < 0 {
			return
		}
		p.Knows().Int(m.Now.UnixMilli())
		waits := slices.DeleteFunc(m.waiting(), func(a *stored) bool { return !a.owed || a.seq != 0 })
		s, done := m.process(p), false
		m.restarted, m.closing, m.Running = true, m.closing+1, m.Running+1
		for attempt := 0; attempt < patience && !done && !p.Dead(); attempt++ {
			_, err := s.RestartKeys(context.Background(), queue, name)
			done = err == nil
			m.OnlyFaults(p, "a restart", err)
		}
		m.closing, m.Running = m.closing-1, m.Running-1
		for _, a := range waits {
			if done && !p.Dead() && a.seq == 0 && m.restores == 0 {
				m.Run.Violation("K-g: the keys began anew, and %s waits from before", a.id)
			}
		}
	})
}

func (m *model) sweeper(times int) { m.settler("sweep", times, sortkey.EverySortKey) }

// others have so many messages of their own placed, in each of so many steps; in a keyed queue with
// greater keys, from one on.
func (m *model) others(steps, entries int, from int64) {
	most := queuelog.MaxTail
	if m.keyed() {
		most = mostTail
	}
	m.Run.Go("others", func(p *sim.Proc) {
		for i := range steps {
			p.Forget().Int(int64(i))
			key := from + int64(i*entries)
			if p.Choose(sim.Labelf("%d messages", entries), func() bool {
				return m.cursor().Tail.Len()+entries <= most &&
					(!m.keyed() || m.cursor().High < sortKeyOf(key, ""))
			}, "") < 0 {
				return
			}
			if m.keyed() {
				m.crowd(key, entries)
			} else {
				m.append(fmt.Sprint("other", i, "."), entries)
			}
		}
	})
}

// turnover has others fill the tail and flush it, so many times, in one step.
func (m *model) turnover(times int) {
	m.Step("turnover", sim.Labelf("%d order items", times), nil, func() {
		for i := range times {
			if missing := queuelog.OrderItemEntries - m.cursor().Tail.Len(); missing > 0 {
				m.append(fmt.Sprint("turnover", i, "."), missing)
			}
			m.flushed()
		}
	})
}

// latecomer has another store a message and die, in one step.
func (m *model) latecomer(key int64) {
	m.Step("latecomer", sim.Labelf("stores %d", key), nil, func() { m.storeCrowd(key, 1) })
}

// overtaker has another flush, and place so many messages, in one step, and then die.
func (m *model) overtaker(from int64, entries int) {
	m.Step("overtaker", sim.Labelf("flush, and %d messages", entries), func() bool {
		return m.cursor().Tail.Len() > anOrderItem && m.cursor().High < sortKeyOf(from, "")
	}, func() {
		m.flushed()
		m.crowd(from, entries)
	})
}

// flusher has the tail flushed, in one step, as soon as it can be.
func (m *model) flusher() {
	m.Step("flusher", sim.Labelf("flush"), func() bool {
		return m.cursor().Tail.Len() > queuelog.OrderItemEntries
	}, m.flushed)
}

// reader reads what has come, so many times, each time in a process that knows nothing.
func (m *model) reader(times int) {
	m.reads = true
	ready := func() bool { return m.cursor().Position > m.delivered }
	m.Turns("reader", times, sim.Labelf("look"), ready, func(p *sim.Proc) func(int) {
		return func(int) {
			if err := m.readOnce(p); err != nil && !p.Dead() {
				m.Run.Violation("the reader: %v", err)
			}
		}
	})
}

func (m *model) readOnce(p *sim.Proc) error {
	s := m.process(p)
	cur, err := s.Status(context.Background(), queue)
	if err != nil {
		return nil
	}
	after := m.delivered
	p.Knows().Int(after)
	for got, err := range s.Read(context.Background(), queue, after, cur.Position) {
		if p.Dead() || world.IsFault(err) {
			return nil
		}
		if err == nil {
			err = m.read(after, got)
		}
		if err != nil {
			return err
		}
		after = got.Seq
	}
	m.delivered = after
	return nil
}

// keeper lets a quarter of the retention pass, so many times, keeps what is undelivered as the
// sweep does, and deletes what has expired.
func (m *model) keeper(times int) {
	const step = retention / 4
	m.Run.Go("keeper", func(p *sim.Proc) {
		s := m.process(p)
		for range times {
			if p.Choose(sim.Labelf("tick"), func() bool { return m.Running == 0 }, step.String()) < 0 {
				return
			}
			m.Now, m.Changed = m.Now.Add(step), true
			m.Running++
			failures, from := 0, m.delivered
			p.Knows().Int(from)
			for more := true; more && failures < patience && !p.Dead(); {
				kept, err := s.Inside(queuelog.Inside{}).KeepUndelivered(context.Background(), queue, from)
				if from, more = kept.To, kept.More || err != nil; err != nil {
					failures, from = failures+1, m.delivered
					p.Knows().Int(from)
				}
			}
			m.Running--
			if p.Dead() || failures == patience {
				return // a sweep that does not run is an alarm
			}
			if m.Tables.Expire(m.Now) > 0 {
				m.expiries++
			}
			m.forgotten()
			m.Changed = true
		}
	})
}

// forgotten notes that what expired may be put anew.
func (m *model) forgotten() {
	for key := range m.sent {
		if m.stored[key] == nil {
			delete(m.sent, key)
		}
	}
}

// restored sets the cursor back to what it is now, at any later moment between two calls, and
// deletes the order items behind it, as docs/how-to/restore.md says; the messages stay as they are.
func (m *model) restored() {
	m.pauses = true
	last := m.seen[len(m.seen)-1]
	entries := len(m.log)
	m.Step("restore", sim.Labelf("the cursor is restored"), func() bool {
		return m.Running == 0 && len(m.log) > entries
	}, func() {
		table := cursor.Names{}.Tables()[1]
		_, _ = m.Tables.Do(context.Background(),
			ddb.Put{Op: ddb.Op{Op: "restore", Table: &table}, Item: last.item})
		for _, o := range m.items() {
			if o.Last > last.TailFrom {
				m.lose(o)
			}
		}
		for _, e := range m.log[entries:] {
			e.seq = 0
		}
		m.log, m.seen = m.log[:entries:entries], nil
		m.restores, m.Changed = m.restores+1, true
	})
}

func (m *model) loser() {
	m.Step("loser", sim.Labelf("an order item is lost"), func() bool {
		return len(m.items()) > 0
	}, func() {
		m.lose(m.items()[0])
		m.restores, m.Changed = m.restores+1, true
	})
}

func (m *model) lose(o queuelog.OrderItem) {
	table := cursor.Names{}.Tables()[0]
	key := ddb.Fields{"queue": ddb.Text(queue), "seq": ddb.Int(o.Last)}.Item()
	_, _ = m.Tables.Do(context.Background(),
		ddb.Delete{Op: ddb.Op{Op: "lose", Table: &table}, Key: key})
}
