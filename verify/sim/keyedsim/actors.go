package keyedsim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
)

// keyed is a message of a producer. Received: its key is the time of the call that brings it.
type keyed struct {
	cursor.Message
	received bool
}

// call is one call of a producer: a group of messages.
type call []keyed

const keyType = sortkey.KeyType("number")

// one is a message. The payload distinguishes two under one key and id.
func one(key int64, id, payload string) keyed {
	return keyed{Message: cursor.Message{
		KeyParts: []any{key}, KeyType: keyType,
		Queue: queue, ID: id, Body: fmt.Appendf(nil, "%d%s%s", key, id, payload),
	}}
}

// byReceipt is a message for a queue of times whose key is when it comes.
func byReceipt(id string) keyed {
	k := one(0, id, "")
	k.KeyType, k.received = "time", true
	return k
}

// behind is a message that names the one which should stand before it.
func behind(prev string, k keyed) keyed {
	k.Prev = prev
	return k
}

// name identifies the message among all.
func (k keyed) name() string { return fmt.Sprint(k.KeyParts[0], k.ID, string(k.Body), k.Prev) }

// sortKey is the key under which it is stored.
func (k keyed) sortKey() sortkey.SortKey { return sortKeyOf(k.KeyParts[0].(int64), k.ID) }

// sortKey is the same of any message, once it is stored.
func (m *model) sortKey(k keyed) sortkey.SortKey {
	if k.received {
		return receivedKey(m.receipts[k.ID], k.ID)
	}
	return k.sortKey()
}

// receivedKey is the key of a message that first came at a time.
func receivedKey(at time.Time, id string) sortkey.SortKey {
	key, err := sortkey.KeyType("time").Key(at)
	if err != nil {
		panic(err) // unreachable: every time of a run is a key
	}
	return sortkey.KeyedSortKey(key, id)
}

func sortKeyOf(n int64, id string) sortkey.SortKey {
	key, err := keyType.Key(n)
	if err != nil {
		panic(err) // unreachable: every whole number is a key
	}
	return sortkey.KeyedSortKey(key, id)
}

// calls are puts of one message each, of these keys, by one id each.
func calls(keys ...int64) []call {
	list := make([]call, len(keys))
	for i, key := range keys {
		list[i] = call{one(key, fmt.Sprint("m", key), "")}
	}
	return list
}

// patience is how often a producer gives a call that failed.
const patience = 2

// producer makes its calls one after the other, in one process, and repeats one that failed.
func (m *model) producer(name string, list ...call) {
	m.run.Go(name, func(p *sim.Proc) {
		s := m.process(p)
		for _, c := range list {
			if (m.keep > 0 || m.pauses) && p.Choose(sim.Labelf("next call"), nil, "") < 0 {
				return
			}
			p.Knows().Int(m.now.UnixMilli())
			for attempt := 0; attempt < patience && !m.call(p, s, c); attempt++ {
				if p.Dead() {
					return
				}
			}
		}
	})
}

// call makes one call and checks its answers; false where it has to be repeated.
func (m *model) call(p *sim.Proc, s *cursor.Sorter, c call) bool {
	m.running++
	defer func() { m.running-- }()
	messages := make([]cursor.Message, len(c))
	for i, k := range c {
		messages[i] = k.Message
		m.attempts[k.name()]++
		if k.received {
			messages[i].KeyParts = []any{sortkey.Received(m.now)}
			p.Knows().Int(m.now.UnixMilli())
		} else if key := m.sortKey(k); m.sent[key].IsZero() {
			m.sent[key] = m.now
		}
	}
	tables, expiries := m.restores, m.expiries
	results := s.Put(context.Background(), messages...)
	if p.Dead() {
		return false
	}
	known := true
	for i, r := range results {
		if r.Err != nil {
			if !logsim.IsFault(r.Err) {
				m.run.Violation("S6: %s got an error that no fault made: %v", c[i].ID, r.Err)
			}
			known = false
			continue
		}
		m.checkAnswer(c[i], r, tables, expiries)
	}
	return known
}

// settler settles the queue up to a sort key, so many times. One that is killed is followed
// by another.
func (m *model) settler(name string, times int, upTo sortkey.SortKey) {
	for i := range times {
		m.run.Daemon(fmt.Sprint(name, i), func(p *sim.Proc) {
			if p.Choose(sim.Labelf("settle up to %x", upTo), func() bool { return m.cursor().Exists() }, "") < 0 {
				return
			}
			p.Knows().Int(m.now.UnixMilli())
			p.Invoke()
			m.running++
			due := m.dueAt(m.now.Add(m.clocks[p.Name()]), upTo)
			done, err := m.process(p).Settle(context.Background(), queue, upTo)
			m.running--
			for _, a := range due {
				if err == nil && !done.More && !p.Dead() && a.seq == 0 && m.stored[a.key] == a && m.restores == 0 {
					m.run.Violation("K-a: a settle ended well, and %s was due before it began", a.id)
				}
			}
			if err != nil && !logsim.IsFault(err) && !p.Dead() {
				m.run.Violation("S6: a settler got an error that no fault made: %v", err)
			}
			p.Forget()
		})
	}
}

// restarter has the keys begin anew, once, and repeats an order that failed.
func (m *model) restarter(name string) {
	m.run.Go(name, func(p *sim.Proc) {
		if p.Choose(sim.Labelf("the keys begin anew"), func() bool { return m.cursor().Exists() }, "") < 0 {
			return
		}
		p.Knows().Int(m.now.UnixMilli())
		var waits []*message
		for _, a := range m.waiting() {
			if a.owed && a.seq == 0 {
				waits = append(waits, a)
			}
		}
		s, done := m.process(p), false
		m.restarted, m.closing, m.running = true, m.closing+1, m.running+1
		for attempt := 0; attempt < patience && !done && !p.Dead(); attempt++ {
			_, err := s.RestartKeys(context.Background(), queue, name)
			if done = err == nil; !done && !logsim.IsFault(err) && !p.Dead() {
				m.run.Violation("S6: a restart got an error that no fault made: %v", err)
			}
		}
		m.closing, m.running = m.closing-1, m.running-1
		for _, a := range waits {
			if done && !p.Dead() && a.seq == 0 && m.restores == 0 {
				m.run.Violation("K-g: the keys began anew, and %s waits from before", a.id)
			}
		}
	})
}

// sweeper settles all, so many times.
func (m *model) sweeper(times int) { m.settler("sweep", times, sortkey.EverySortKey) }

// others place so many messages of their own, with greater keys, in each of so many steps.
func (m *model) others(steps, entries int, from int64) {
	m.run.Go("others", func(p *sim.Proc) {
		for i := range steps {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("%d messages", entries), func() bool {
				return m.cursor().Tail.Len()+entries <= mostTail && m.cursor().High < sortKeyOf(from+int64(i*entries), "")
			}, "") < 0 {
				return
			}
			m.crowd(from+int64(i*entries), entries)
		}
	})
}

// latecomer has another store a message and die, in one step.
func (m *model) latecomer(key int64) {
	m.run.Go("latecomer", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("stores %d", key), nil, "") == 0 {
			m.storeCrowd(key, 1)
		}
	})
}

// overtaker has another flush, and place so many messages, in one step, and then die.
func (m *model) overtaker(from int64, entries int) {
	m.run.Go("overtaker", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("flush, and %d messages", entries), func() bool {
			return m.cursor().Tail.Len() > anOrderItem && m.cursor().High < sortKeyOf(from, "")
		}, "") == 0 {
			m.flushed()
			m.crowd(from, entries)
		}
	})
}

// flusher has the tail flushed, in one step, as soon as it can be.
func (m *model) flusher() {
	m.run.Go("flusher", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("flush"), func() bool { return m.cursor().Tail.Len() > queuelog.OrderItemEntries }, "") == 0 {
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

// keeper lets time pass, so many times, keeps what is undelivered as the sweep does, and
// deletes what has expired.
func (m *model) keeper(times int, step time.Duration) {
	m.run.Go("keeper", func(p *sim.Proc) {
		s := m.process(p)
		for range times {
			if p.Choose(sim.Labelf("tick"), func() bool { return m.running == 0 }, step.String()) < 0 {
				return
			}
			m.now, m.changed = m.now.Add(step), true
			m.running++
			failures, from := 0, m.delivered
			for more := true; more && failures < patience && !p.Dead(); {
				kept, err := s.Inside(queuelog.Inside{}).KeepUndelivered(context.Background(), queue, from)
				if from, more = kept.To, kept.More || err != nil; err != nil {
					failures, from = failures+1, m.delivered
				}
			}
			m.running--
			if p.Dead() || failures == patience {
				return // a sweep that does not run is an alarm
			}
			if m.tables.Expire(m.now) > 0 {
				m.expiries++
			}
			m.forgotten()
			m.changed = true
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

// clock lets time pass, at any moment.
func (m *model) clock(steps ...time.Duration) { m.run.Clock(&m.now, nil, steps...) }

// restored sets the cursor back to what it is now, at any later moment between two calls, and
// deletes the order items behind it, as docs/restore.md says; the messages stay as they are.
func (m *model) restored() {
	m.pauses = true
	last := m.seen[len(m.seen)-1]
	before, entries := last.item, len(m.log)
	m.run.Go("restore", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("the cursor is restored"), func() bool { return m.running == 0 && len(m.log) > entries }, "") < 0 {
			return
		}
		table := cursor.Names{}.Tables()[1]
		_, _ = m.tables.Do(context.Background(), ddb.Put{Op: ddb.Op{Op: "restore", Table: &table}, Item: before})
		for _, o := range m.items() {
			if o.Last > last.TailFrom {
				m.lose(o)
			}
		}
		for _, e := range m.log[entries:] {
			e.seq = 0
		}
		m.log, m.seen = m.log[:entries:entries], nil
		m.restores, m.changed = m.restores+1, true
	})
}

// loser loses the first order item, as soon as there is one.
func (m *model) loser() {
	m.run.Go("loser", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("an order item is lost"), func() bool { return len(m.items()) > 0 }, "") < 0 {
			return
		}
		m.lose(m.items()[0])
		m.restores, m.changed = m.restores+1, true
	})
}

// lose deletes an order item.
func (m *model) lose(o queuelog.OrderItem) {
	table := cursor.Names{}.Tables()[0]
	key := ddb.Fields{"queue": ddb.Text(queue), "seq": ddb.Int(o.Last)}.Item()
	_, _ = m.tables.Do(context.Background(), ddb.Delete{Op: ddb.Op{Op: "lose", Table: &table}, Key: key})
}
