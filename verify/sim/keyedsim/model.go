// Package keyedsim plugs keyed queues into the simulator: its actors are the code of
// pkg/cursor on [ddb.Memory], and its model checks after every step what must hold of such a
// queue.
//
//	K-a a message has one place at most, as long as it is kept, and behind what it had seen;
//	    once faults stop, the sweep gives one to each that was owed it
//	K-b the places that are not late ascend by their sort keys
//	K-c late is who stands behind a greater sort key that is not late; dropped are those, and
//	    only where the queue has such dropped, whose key is less than the watermark's
//	K-d nothing is late that was stored before some message with a greater sort key was due,
//	    and nothing is placed before it, or one behind it, is due; less what clocks differ
//	K-e the log only grows at its end, and all of it is in the order items and the tail; the
//	    cursor says what the log says; all that was stored at or under Low, when the
//	    watermark was before it, has its place
//	K-g the keys begin anew once an order, behind all that waited before it; what is late since, of
//	    an era before, is not dropped
//	K-f a message whose key is its time of receipt is one, whenever it comes again
//	S4  what is stored under a sort key never changes while it is kept
//	S5  an answer is true, at once and for ever
//	S6  an error is reported only of a fault
//
// and that a reader gets the log, with the bytes that were accepted.
package keyedsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// start is when every run begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	queue = "q"
	// wrongClock is how far ahead of a settler's clock a message's is wrong.
	wrongClock = 5 * time.Minute
	// mostTail is how many entries a tail has at most: those of an order item, which stay,
	// and a move's.
	mostTail = queuelog.OrderItemEntries + 128
)

// message is what is stored under a sort key, until it expires.
type message struct {
	key            sortkey.SortKey
	id, op, prev   string
	body           string
	seen           int64
	stored         time.Time // by no clock but the run's
	arrived        time.Time // by the writer's
	expires        time.Time
	owed, answered bool
	// told is set when a producer was told that it stored it.
	told bool
	seq  int64
}

// entry is a place in the log.
type entry struct {
	queuelog.Entry
	*message
}

// model is the tables and all that the invariants need to know.
type model struct {
	run      *sim.Run
	tables   *ddb.Memory
	store    *cursor.Store
	known    known
	crowds   crowds
	settings cursor.Settings
	keep     time.Duration
	now      time.Time
	// page, if not 0, is the most messages that a query shows, where a table stops at 1 MB.
	page int
	// clocks are how far the processes' clocks are from the run's; slow are those processes
	// that others can overtake while they read it.
	clocks map[string]time.Duration
	slow   map[string]bool

	// seen are the last two states of the cursor.
	seen []state
	// log is the queue's, from its first seq on.
	log []entry
	// stored is what stands under each sort key; attempts counts how often each message was
	// given to a put, sent is when first.
	stored   map[sortkey.SortKey]*message
	attempts map[string]int
	sent     map[sortkey.SortKey]time.Time
	// receipts are when messages first came, by their ids, where that is their key.
	receipts  map[string]time.Time
	byReceipt []string // those ids
	// delivered is how far the reader is; it reads only where there is one.
	delivered int64
	reads     bool
	// running counts calls under way: time that is long against a call passes only while
	// there is none.
	running int
	// pauses is set where such time passes, so that a producer waits between two calls.
	pauses  bool
	changed bool
	// restores counts how often tables were set back, or lost something: what is stale may be
	// answered so then. An answer from before is no longer true.
	restores int
	// closing counts the calls under way by which the keys begin anew; restarted is set with the first.
	closing   int
	restarted bool
	// expiries counts how often something expired.
	expiries int
}

// state is the cursor as it stood, and its item.
type state struct {
	cursor.Cursor
	item ddb.Item
}

// known is what the tables are known to have.
type known struct {
	cursor *cursor.Cursor
	items  []queuelog.OrderItem
}

func newModel(run *sim.Run, made crowds, settings cursor.Settings) *model {
	var names cursor.Names
	tables := ddb.NewMemory(append(names.Tables(), names.ArrivalsTable())...).Remember()
	m := &model{
		run: run, tables: tables, store: simdb.Queues(tables), crowds: made, now: start, settings: settings,
		clocks: map[string]time.Duration{}, slow: map[string]bool{},
		stored: map[sortkey.SortKey]*message{}, attempts: map[string]int{}, sent: map[sortkey.SortKey]time.Time{},
		receipts: map[string]time.Time{},
	}
	tables.OnChange(func(c ddb.Change) {
		switch c.Table.Name {
		case "streamsort-cursors":
			m.known.cursor = nil
		case "streamsort-messages":
			m.known.items = nil
		case "streamsort-arrivals":
			m.noteStored(c)
		}
	})
	return m
}

// process is a Sorter with a memory and a clock of its own, on its view of the tables.
func (m *model) process(p *sim.Proc) *cursor.Sorter {
	ops, ahead, slow := 0, m.clocks[p.Name()], m.slow[p.Name()]
	s, err := cursor.New(simdb.Queues(m.view(p)), &cursor.Options{
		Defaults: &m.settings, ForEach: fanout.OneByOne, Retention: m.keep,
		Now: func() time.Time {
			if slow {
				p.Choose(sim.Labelf("reads the clock"), nil, "")
				p.Knows().Int(m.now.UnixMilli())
			}
			return m.now.Add(ahead)
		},
		NewOp: func() []byte { ops++; return fmt.Appendf(nil, "%s%d", p.Name(), ops) },
		// Who goes on first is the schedule's choice.
		Pause: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		panic(err) // a scenario with options out of bounds
	}
	return s
}

// aheadBy and behindBy are how far a clock is from the run's, at most.
func (m *model) aheadBy() time.Duration {
	most := time.Duration(0)
	for _, d := range m.clocks {
		if d <= wrongClock {
			most = max(most, d)
		}
	}
	return most
}

func (m *model) behindBy() time.Duration {
	most := time.Duration(0)
	for _, d := range m.clocks {
		most = max(most, -d)
	}
	return most
}

// create makes the queue.
func (m *model) create() {
	s, err := cursor.New(m.store, &cursor.Options{Defaults: &m.settings, ForEach: fanout.OneByOne, Now: func() time.Time { return m.now }})
	if err == nil {
		kind := m.settings.Kind
		_, err = s.Configure(context.Background(), queue, cursor.Change{Kind: &kind, KeyType: &m.settings.KeyType})
	}
	if err != nil {
		panic(err) // a scenario with settings out of bounds
	}
	m.changed = true
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

// items are the order items that stand in the table.
func (m *model) items() []queuelog.OrderItem {
	if m.known.items == nil {
		page, _ := m.store.Requests(queuelog.Inside{}).OrderItems(context.Background(), queuelog.Query{Queue: queue, First: 0, Last: cursor.MaxSeq})
		m.known.items = page.Items
	}
	return m.known.items
}

// noteStored notes a message that was stored, kept for longer, or deleted.
func (m *model) noteStored(c ddb.Change) {
	key := sortkey.SortKey(c.Before.Get("sortKey").Str())
	if c.After.Exists() {
		key = sortkey.SortKey(c.After.Get("sortKey").Str())
	}
	if key > sortkey.EverySortKey {
		return // a receipt
	}
	it := c.After
	if !it.Exists() {
		delete(m.stored, key)
		return
	}
	there := m.stored[key]
	if there == nil || there.op != it.Get("op").Str() {
		there = &message{
			key: key, id: it.Get("id").Str(), op: it.Get("op").Str(), prev: it.Get("prev").Str(), body: it.Get("body").Str(),
			seen: number(it, "seen"), stored: m.now, arrived: time.UnixMilli(number(it, "enqueuedAt")).UTC(),
			owed: key > m.known.cursor.High, // perform has looked at it
		}
		for _, other := range m.stored {
			if other.id == there.id && !m.receipts[there.id].IsZero() {
				m.run.Violation("K-f: %s came twice, and is two messages", there.id)
			}
		}
		m.stored[key] = there
	}
	there.expires = time.Time{}
	if at := number(it, "expiresOn"); at != 0 {
		there.expires = time.Unix(at, 0).UTC()
	}
}

func number(it ddb.Item, name ddb.Path) int64 {
	n, _ := it.Get(name).Int64()
	return n
}

// Final implements [sim.Model]: the sweep gives all that are owed one their places, at once
// and when the last window is over, and closes Low behind them; and everything that was not
// delivered can be read.
func (m *model) Final() error {
	ctx, s := context.Background(), m.process(nil)
	if m.cursor().Exists() {
		rounds := 3
		if m.restores > 0 {
			rounds += len(m.stored) // what is stale is placed when the queue has come so far again
		}
		for range rounds {
			if _, err := s.Sweep(ctx, cursor.SweepOptions{Segments: 1}); err != nil {
				return fmt.Errorf("the sweep: %w", err)
			}
			m.now = m.now.Add(m.settings.Settle + wrongClock + m.aheadBy() + m.behindBy())
		}
	}
	for _, a := range m.waiting() {
		owed := a.key > m.cursor().High || m.restores == 0 && (a.owed || a.answered)
		if owed && a.seq == 0 && !m.stale(a) {
			return fmt.Errorf("KA: %s has no place in the end", a.id)
		}
	}
	if m.cursor().Low < m.cursor().High {
		return errors.New("KE: low is not closed in the end")
	}
	if m.restores == 0 {
		after := m.gone()
		for got, err := range m.process(nil).Read(ctx, queue, after, m.cursor().Position) {
			if err == nil {
				err = m.read(after, got)
			}
			if err != nil {
				return err
			}
			after = got.Seq
		}
		if after != max(m.cursor().Position, m.gone()) {
			return errors.New("the reading ended before the position")
		}
	}
	if err := m.run.Err(); err != nil {
		return err
	}
	m.changed = true
	return m.Check()
}

// waiting is what is stored, in the order of the sort keys.
func (m *model) waiting() []*message {
	return slices.SortedFunc(maps.Values(m.stored), func(a, b *message) int { return cmp.Compare(a.key, b.key) })
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.now.UnixMilli())
	d.Int(m.delivered)
	d.Int(int64(m.running))
	d.Int(int64(m.restores))
	d.Int(int64(m.closing))
	d.Bool(m.restarted)
	for _, c := range m.seen {
		hashCursor(d, c.item)
	}
	for _, o := range m.items() {
		d.Int(o.Last)
		d.Text(string(o.Entries))
		d.Int(o.ExpiresOn.Unix())
	}
	for _, a := range m.waiting() {
		if m.sent[bare(a.key)].IsZero() {
			continue // of a crowd: the same in all runs
		}
		d.Text(string(a.key))
		d.Text(a.op)
		d.Text(a.body)
		d.Int(a.seen)
		d.Int(a.seq)
		d.Int(a.stored.UnixMilli())
		d.Int(a.arrived.UnixMilli())
		d.Int(a.expires.Unix())
		d.Bool(a.owed)
		d.Bool(a.answered)
		d.Bool(a.told)
	}
	for _, name := range slices.Sorted(maps.Keys(m.attempts)) {
		d.Text(name)
		d.Int(int64(m.attempts[name]))
	}
}
