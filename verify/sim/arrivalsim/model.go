// Package arrivalsim plugs queues in arrival order into the simulator: its
// actors are the code of pkg/cursor on [ddb.Memory], and its model checks
// after every step what must hold of such a queue.
//
//	S1 the position never decreases, and neither does the begin of the tail
//	O1 every seq up to the position has a place, in an order item or in the tail
//	O2 a place that was given never changes
//	O3 an arrival has one place at most, as long as it is kept
//	O4 an arrival is stored when it gets its place, and stays until it is delivered
//	S4 what is stored under an id never changes while it is kept
//	S5 an answer that names seqs is true, at once and for ever
//	S6 an error is reported only of a fault
//	A1 a batch that says its seqs has exactly those, or none
//	A2 an answer for such a message is true
//
// and that a reader gets all messages, in the order of their seqs, with the
// bytes that were accepted.
package arrivalsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// start is when every run begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const queue = "q"

// placed is a place that was given, and the arrival that got it.
type placed struct {
	entry queuelog.Entry
	seqs  cursor.Range
	// id and op identify the arrival among others under its id.
	id, op string
	bodies []string
}

// model is the tables and all that the invariants need to know.
type model struct {
	run    *sim.Run
	tables *ddb.Memory
	store  *cursor.Store
	// known is what stands in the tables, as far as somebody asked since it last
	// changed.
	known known
	// crowds are those that were made in any run of the scenario.
	crowds crowds
	keep   time.Duration
	now    time.Time

	// seen are the last two states of the cursor.
	seen []state
	// order are the places in the order in which they were given.
	order []placed
	// ids are those that a producer has, in the order of their first use;
	// attempts counts how often each was given to an append.
	ids      []string
	attempts map[string]int
	// own are the keys of what came without an id, sorted; attemptsSum holds how often each of its
	// messages was given to a put.
	own         []sortkey.SortKey
	attemptsSum int64
	// delivered is how far the reader is; it reads only where there is one.
	delivered int64
	reads     bool
	// running counts calls under way: time that is long against a call passes
	// only while there is none.
	running int
	changed bool
}

// state is the cursor as it stood, and its item.
type state struct {
	cursor.Cursor
	item ddb.Item
}

var arrivalsTable = cursor.Names{}.ArrivalsTable()

// known is what the tables are known to have.
type known struct {
	cursor   *cursor.Cursor
	items    []queuelog.OrderItem
	arrivals map[sortkey.SortKey]cursor.Arrival
}

func newModel(run *sim.Run, made crowds) *model {
	var names cursor.Names
	tables := ddb.NewMemory(append(names.Tables(), names.ArrivalsTable())...).Remember()
	m := &model{run: run, tables: tables, store: simdb.Queues(tables), crowds: made, now: start, attempts: map[string]int{}}
	m.known.arrivals = map[sortkey.SortKey]cursor.Arrival{}
	tables.OnChange(func(c ddb.Change) {
		switch c.Table.Name {
		case "streamsort-cursors":
			m.known.cursor = nil
		case "streamsort-messages":
			m.known.items = nil
		case "streamsort-arrivals":
			it := c.After
			if !it.Exists() {
				it = c.Before
			}
			delete(m.known.arrivals, keyOf(it))
		}
	})
	return m
}

// process is a Sorter with a memory of its own, on its view of the tables.
func (m *model) process(p *sim.Proc) *cursor.Sorter {
	ops := 0
	s, err := cursor.New(simdb.Queues(m.view(p)), &cursor.Options{
		ForEach: fanout.OneByOne, Retention: m.keep, Now: func() time.Time { return m.now },
		NewOp: func() []byte { ops++; return fmt.Appendf(nil, "%s%d", p.Name(), ops) },
	})
	if err != nil {
		panic(err) // a scenario with options out of bounds
	}
	return s
}

// plain is a Sorter of nobody, whose requests are no points of the run.
func (m *model) plain() *cursor.Sorter {
	s, err := cursor.New(m.store, &cursor.Options{ForEach: fanout.OneByOne, Retention: m.keep, Now: func() time.Time { return m.now }})
	if err != nil {
		panic(err) // a scenario with options out of bounds
	}
	return s
}

// create makes the queue with places that were given before the run.
func (m *model) create(entries int) {
	settings := cursor.DefaultSettings()
	settings.Kind = cursor.KindArrival
	c := cursor.Cursor{Queue: queue, Settings: settings, MovedAt: m.now, Announced: -1}
	if _, err := m.store.Requests(queuelog.Inside{}).CreateCursor(context.Background(), c); err != nil {
		panic(err) // unreachable: the context has not ended
	}
	m.crowd("before", entries)
}

// crowd has others append messages of their own, in one step. These do not
// expire: keeping each would be points of the run.
func (m *model) crowd(name string, entries int) {
	ctx := context.Background()
	at := m.cursor().Position
	c := m.crowds.get(m.now, at, name, entries)
	for i, it := range c.items {
		_, _ = m.tables.Do(ctx, ddb.Put{Op: ddb.Op{Op: "put arrival", Table: &arrivalsTable}, Item: it})
		m.known.arrivals[sortkey.HashOf(c.arrivals[i].ID)] = c.arrivals[i]
	}
	_, _, _ = simdb.Queues(m.view(nil)).Requests(queuelog.Inside{}).Allocate(ctx, queue, c.tail, cursor.Range{From: at, To: at}, m.now)
	_ = m.Check() // notes the cursor
}

// flushed has an order item made outside the run.
func (m *model) flushed() {
	ctx, c := context.Background(), m.cursor()
	first, _ := c.Tail.First(queuelog.OrderItemEntries)
	o := queuelog.OrderItem{Queue: queue, Last: c.TailFrom + first.Seqs(), Entries: first}
	_, _ = m.store.Requests(queuelog.Inside{}).PutOrderItem(ctx, o) // they fail only after the context's end
	_, _, _ = m.store.Requests(queuelog.Inside{}).TrimTail(ctx, c, queuelog.OrderItemEntries)
	m.changed = true
	_ = m.Check() // notes the cursor
}

// early is an append that was made before the run.
func (m *model) early(id string) {
	m.know(calls(id))
	m.attempts[id]++
	if err := m.process(nil).Put(context.Background(), one(id, "", 1).messages...)[0].Err; err != nil {
		panic(err) // unreachable: nothing fails here
	}
	_ = m.Check() // notes the cursor
}

// cursor is the queue's cursor as it stands.
func (m *model) cursor() cursor.Cursor {
	if m.known.cursor == nil {
		c, _ := m.store.Requests(queuelog.Inside{}).Cursor(context.Background(), queue, true)
		m.known.cursor = &c
	}
	return *m.known.cursor
}

// stored is what stands under an id.
func (m *model) stored(key sortkey.SortKey) (cursor.Arrival, bool) {
	if a, known := m.known.arrivals[key]; known {
		return a, true
	}
	found, _, _ := m.store.Requests(queuelog.Inside{}).Arrivals(context.Background(), queuelog.ArrivalQuery{Queue: queue, Keys: []sortkey.SortKey{key}})
	if len(found) == 0 {
		return cursor.Arrival{}, false
	}
	m.known.arrivals[key] = found[0]
	return found[0], true
}

// items are the order items that stand in the table.
func (m *model) items() []queuelog.OrderItem {
	if m.known.items == nil {
		page, _ := m.store.Requests(queuelog.Inside{}).OrderItems(context.Background(), queuelog.Query{Queue: queue, First: 0, Last: cursor.MaxSeq})
		m.known.items = page.Items
	}
	return m.known.items
}

// given notes the places that an allocation gave, and checks O3 and O4.
func (m *model) given(before, after cursor.Cursor) {
	at := before.Position
	for i := before.Tail.Len(); i < after.Tail.Len(); i++ {
		e := after.Tail.At(i)
		a, there := m.stored(e.Key)
		if !there || len(a.Messages) != e.Count {
			m.run.Violation("O4: a place behind %d was given to an arrival that is not stored", at)
			return
		}
		if a.ID == "" && a.Seen != at {
			m.run.Violation("A1: a batch from %d on was given the place behind %d", a.Seen+1, at)
		}
		if !a.ExpiresOn.IsZero() && a.ExpiresOn.Before(m.now.Add(m.keep/2)) {
			m.run.Violation("O4: %s got its place so late that it expires before it is delivered", a.ID)
		}
		p := placed{entry: e, seqs: cursor.Range{From: at, To: at + int64(e.Count)}, id: a.ID, op: string(a.Op)}
		for _, message := range a.Messages {
			p.bodies = append(p.bodies, string(message.Body))
		}
		for _, other := range m.order {
			if other.id == p.id && other.op == p.op {
				m.run.Violation("O3: %s has the seqs %v, and was given %v", p.id, other.seqs, p.seqs)
			}
		}
		m.order = append(m.order, p)
		at = p.seqs.To
	}
}

// Check implements [sim.Model].
func (m *model) Check() error {
	if !m.changed {
		return nil
	}
	m.changed = false
	items := m.tables.Items("streamsort-cursors")
	if len(items) == 0 {
		return nil
	}
	c := m.cursor()
	if last := len(m.seen) - 1; last < 0 || m.seen[last].Cursor != c {
		if last >= 0 && (c.Position < m.seen[last].Position || c.TailFrom < m.seen[last].TailFrom) {
			return fmt.Errorf("S1: the cursor went back from %d, %d to %d, %d", m.seen[last].TailFrom, m.seen[last].Position, c.TailFrom, c.Position)
		}
		m.seen = append(m.seen[max(last, 0):], state{c, items[0]})
	}
	if c.TailFrom+c.Tail.Seqs() != c.Position || c.Tail.Len() > queuelog.MaxTail {
		return fmt.Errorf("O1: the tail is of the seqs from %d to %d, and the position is %d", c.TailFrom, c.TailFrom+c.Tail.Seqs(), c.Position)
	}
	return m.places(c)
}

// places checks O1 and O2: the places are those that were given, and known but
// for what may be gone. The order items that others made do not expire, and may
// stand before one that has.
func (m *model) places(c cursor.Cursor) error {
	return logsim.Whole("O1", c, m.items(), m.gone, m.same)
}

// gone is a seq up to which places may have been deleted: what is delivered,
// once time has passed.
func (m *model) gone() int64 {
	if m.keep == 0 || m.now.Equal(start) {
		return 0
	}
	if !m.reads {
		return m.cursor().Position
	}
	return m.delivered
}

// same checks a run of places behind a seq.
func (m *model) same(entries queuelog.Tail, at int64) error {
	first, found := slices.BinarySearchFunc(m.order, at, func(p placed, at int64) int { return int(p.seqs.From - at) })
	if !found && entries.Len() > 0 {
		return fmt.Errorf("O2: nobody was given a place at %d", at+1)
	}
	for i := range entries.Len() {
		if e := entries.At(i); first+i >= len(m.order) || m.order[first+i].entry != e {
			return fmt.Errorf("O2: the place behind %d changed", at)
		}
	}
	return nil
}

// checkAnswer checks S5: what a producer was answered for an arrival.
func (m *model) checkAnswer(a request, results []cursor.Result) {
	r := results[0]
	seqs := cursor.Range{From: r.Seq - 1, To: results[len(results)-1].Seq}
	wrong := func(why string) { m.run.Violation("%s was answered %s %v: %s", a.id, r.Outcome, seqs, why) }
	switch r.Outcome {
	case cursor.Advanced, cursor.Duplicate:
		if r.Outcome == cursor.Duplicate && m.attempts[a.id] == 1 {
			wrong("it was given once")
		}
		for _, p := range m.order {
			if p.seqs != seqs {
				continue
			}
			if p.id != a.id || !slices.EqualFunc(p.bodies, a.messages, func(s string, b cursor.Message) bool { return s == string(b.Body) }) {
				wrong("that is the place of " + p.id)
			}
			return
		}
		wrong("nobody has that place")
	case cursor.Conflict:
		if there, ok := m.stored(sortkey.HashOf(a.id)); ok && sameBodies(there.Messages, a.messages) {
			wrong("it is what is stored")
		}
	default:
		wrong("that cannot be")
	}
}

func sameBodies(a, b []cursor.Message) bool {
	return slices.EqualFunc(a, b, func(a, b cursor.Message) bool { return bytes.Equal(a.Body, b.Body) })
}

// read checks one message that a reader got behind a seq.
func (m *model) read(after int64, message cursor.Message) error {
	if message.Seq != after+1 {
		return fmt.Errorf("seq %d was read behind %d", message.Seq, after)
	}
	for _, p := range m.order {
		if message.Seq > p.seqs.From && message.Seq <= p.seqs.To {
			if body := p.bodies[message.Seq-p.seqs.From-1]; string(message.Body) != body {
				return fmt.Errorf("S4: seq %d was read as %q, and is %q", message.Seq, message.Body, body)
			}
			return nil
		}
	}
	return fmt.Errorf("seq %d was read, and nobody was given it", message.Seq)
}

// Final implements [sim.Model]: everything that was not delivered can be read.
func (m *model) Final() error {
	after := m.gone()
	for message, err := range m.plain().Read(context.Background(), queue, after, m.cursor().Position) {
		if err == nil {
			err = m.read(after, message)
		}
		if err != nil {
			return err
		}
		after = message.Seq
	}
	if after != max(m.cursor().Position, m.gone()) {
		return errors.New("the reading ended before the position")
	}
	m.changed = true
	return m.Check()
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.now.Unix())
	d.Int(m.delivered)
	d.Int(int64(m.running))
	for _, c := range m.seen {
		hashCursor(d, c.item)
	}
	for _, o := range m.items() {
		d.Int(o.Last)
		d.Text(string(o.Entries))
		d.Int(o.ExpiresOn.Unix())
	}
	for _, id := range m.ids {
		d.Text(id)
		d.Int(int64(m.attempts[id]))
		a, there := m.stored(sortkey.HashOf(id))
		d.Bool(there)
		d.Text(string(a.Op))
		d.Int(a.Seen)
		d.Int(a.ExpiresOn.Unix())
		d.Int(int64(len(a.Messages)))
		d.Text(string(a.Digest))
	}
	for _, key := range m.own {
		a, there := m.stored(key)
		d.Bool(there)
		d.Text(string(key))
		d.Text(string(a.Op))
		d.Int(a.ExpiresOn.Unix())
	}
	d.Int(m.attemptsSum)
	// Who was given what is known from the entries, but for who stored it.
	for _, p := range m.order {
		if m.attempts[p.id] > 0 || p.id == "" {
			d.Text(p.op)
			d.Int(p.seqs.From)
		}
	}
}
