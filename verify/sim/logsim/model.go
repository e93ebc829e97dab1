// Package logsim plugs queues with a log into the simulator, those in arrival order and keyed ones:
// its actors are the code of pkg/cursor on [ddb.Memory], and its model checks after every step what
// must hold of such a queue.
//
//	S1  the position never decreases, and neither do the start of the tail and the watermark
//	O1  every seq up to the position has a place, in an order item or in the tail, and the log
//	    only grows at its end
//	O2  a place that was given never changes
//	O3  a message has one place at most, as long as it is kept, and behind what it had seen
//	O4  it is stored when it gets its place, and stays until it is delivered
//	S4  what is stored under an id or a sort key never changes while it is kept
//	S5  an answer is true, at once and for ever
//	S6  an error is reported only of a fault
//	A1  a batch that says its seqs has exactly those, or none
//	A2  an answer for such a message is true
//	K-a once faults stop, the sweep gives a place to each message that was owed it
//	K-b the places that are not late ascend by their sort keys
//	K-c late is who stands behind a greater sort key that is not late; dropped are those, and
//	    only where the queue has such dropped, whose key is less than the watermark's
//	K-d nothing is late that was stored before some message with a greater sort key was due,
//	    and nothing is placed before it, or one behind it, is due; less what clocks differ
//	K-e the cursor says what the log says; all that was stored at or under Low, when the
//	    watermark was before it, has its place
//	K-f a message whose key is its time of receipt is one, whenever it comes again
//	K-g the keys begin anew once an order, behind all that waited before it; what is late since, of
//	    an era before, is not dropped
//
// and that a reader gets all messages, in the order of their seqs, with the bytes that were
// accepted.
package logsim

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
	"github.com/streamsort/streamsort/verify/sim/world"
)

const (
	queue = "q"
	// mostTail is how many entries the tail of a keyed queue has at most: those of an order item,
	// which stay, and a move's.
	mostTail = queuelog.OrderItemEntries + 128
)

// stored is what is stored under an id or a sort key, until it expires.
type stored struct {
	key          sortkey.SortKey
	id, op, prev string
	digest       string
	// bodies are those of its messages; nil before somebody asked.
	bodies         []string
	seen           int64
	stored         time.Time // by no clock but the run's
	arrived        time.Time // by the writer's
	expires        time.Time
	owed, answered bool
	// first is set when a producer was answered that it stored it, others where a crowd did.
	first, others bool
	// seq is its first one, 0 where it has no place.
	seq int64
}

type entry struct {
	queuelog.Entry
	*stored
}

func (e entry) last() int64 { return e.seq + int64(e.Count) - 1 }

// model is the tables and all that the invariants need to know.
type model struct {
	*world.World
	store    *cursor.Store
	known    known
	crowds   crowds
	settings cursor.Settings
	keep     time.Duration

	// seen are the last two states of the cursor.
	seen []state
	// log is the queue's, from its first seq on.
	log []entry
	// stored is what stands under each key, own is that of it which no crowd stored; attempts counts
	// how often each message, or each that has an id, was given to a put, sent is when first.
	stored   map[sortkey.SortKey]*stored
	own      map[sortkey.SortKey]*stored
	attempts map[string]int
	sent     map[sortkey.SortKey]time.Time
	// receipts are when messages first came, by their ids, where that is their key.
	receipts  map[string]time.Time
	byReceipt []string // those ids
	// delivered is how far the reader is; it reads only where there is one.
	delivered int64
	reads     bool
	// pauses is set where time passes that is long against a call, so that a producer waits between
	// two calls.
	pauses bool
	// restores counts how often tables were set back, or lost something: what is stale may be
	// answered so then. An answer from before is no longer true.
	restores int
	// closing counts the calls under way by which the keys begin anew; restarted is set with the
	// first.
	closing   int
	restarted bool
	// crowding is set while a crowd stores what it has.
	crowding bool
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

var arrivalsTable = cursor.Names{}.ArrivalsTable()

func newModel(run *sim.Run, made crowds, settings cursor.Settings) *model {
	m := &model{
		World: world.New(run, append(cursor.Names{}.Tables(), arrivalsTable)...), crowds: made,
		settings: settings,
		stored:   map[sortkey.SortKey]*stored{}, own: map[sortkey.SortKey]*stored{},
		attempts: map[string]int{}, sent: map[sortkey.SortKey]time.Time{},
		receipts: map[string]time.Time{},
	}
	m.Unseen = []string{"change"} // only the stream acts on that
	m.store = simdb.Queues(m.Tables)
	m.Note("streamsort-cursors", func(ddb.Change) { m.known.cursor = nil })
	m.Note("streamsort-messages", func(ddb.Change) { m.known.items = nil })
	m.Note("streamsort-arrivals", m.noteStored)
	return m
}

// keyed reports whether the queue is, and not in arrival order.
func (m *model) keyed() bool { return m.settings.Kind == cursor.KindKeyed }

// process is a Sorter with a memory and a clock of its own, on its view of the tables.
func (m *model) process(p *sim.Proc) *cursor.Sorter {
	ops := 0
	o := cursor.Options{
		ForEach: fanout.OneByOne, Retention: m.keep, Now: m.Clock(p),
		NewOp: func() []byte { ops++; return fmt.Appendf(nil, "%s%d", p.Name(), ops) },
		// The process that goes on first is the schedule's choice.
		Pause: func(context.Context, time.Duration) error { return nil },
	}
	if m.keyed() {
		o.Defaults = &m.settings
	}
	return sim.Must(cursor.New(simdb.Queues(m.view(p)), &o))
}

// create makes the queue. What is noted of it first is what stands there next.
func (m *model) create() {
	if m.keyed() {
		s := sim.Must(cursor.New(m.store,
			&cursor.Options{Defaults: &m.settings, ForEach: fanout.OneByOne, Now: m.Clock(nil)}))
		sim.Must(s.Configure(context.Background(), queue,
			cursor.Change{Kind: &m.settings.Kind, KeyType: &m.settings.KeyType}))
		return
	}
	c := cursor.Cursor{Queue: queue, Settings: m.settings, MovedAt: m.Now, Announced: -1}
	sim.Must(m.store.Requests(queuelog.Inside{}).CreateCursor(context.Background(), c))
}

func (m *model) begin() {
	m.create()
	m.note()
}

// note notes the cursor after what was done outside the run.
func (m *model) note() {
	m.Changed = true
	_ = m.Check()
}

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
		all := queuelog.Query{Queue: queue, First: 0, Last: cursor.MaxSeq}
		page, _ := m.store.Requests(queuelog.Inside{}).OrderItems(context.Background(), all)
		m.known.items = page.Items
	}
	return m.known.items
}

// keyOf is the key that a message is stored under.
func keyOf(it ddb.Item) sortkey.SortKey { return sortkey.SortKey(it.Get("sortKey").Str()) }

// noteStored notes a message that was stored, kept for longer, or deleted.
func (m *model) noteStored(c ddb.Change) {
	it := c.After
	if !it.Exists() {
		delete(m.stored, keyOf(c.Before))
		delete(m.own, keyOf(c.Before))
		return
	}
	key := keyOf(it)
	if m.crowding || m.keyed() && key > sortkey.EverySortKey {
		return // of a crowd, or a receipt
	}
	there := m.stored[key]
	if there == nil || there.op != it.Get("op").Str() {
		there = &stored{
			key: key, id: it.Get("id").Str(), op: it.Get("op").Str(), prev: it.Get("prev").Str(),
			digest: it.Get("digest").Str(), seen: number(it, "seen"),
		}
		if m.keyed() {
			there.noteKeyed(m, it)
		}
		m.stored[key], m.own[key] = there, there
	}
	there.expires = time.Time{}
	if at := number(it, "expiresOn"); at != 0 {
		there.expires = time.Unix(at, 0).UTC()
	}
}

// noteKeyed notes more of a message of a keyed queue.
func (a *stored) noteKeyed(m *model, it ddb.Item) {
	a.bodies = []string{it.Get("body").Str()}
	a.stored, a.arrived = m.Now, time.UnixMilli(number(it, "enqueuedAt")).UTC()
	a.owed = a.key > m.known.cursor.High // perform has looked at it
	for _, other := range m.stored {
		if other.id == a.id && !m.receipts[a.id].IsZero() {
			m.Run.Violation("K-f: %s came twice, and is two messages", a.id)
		}
	}
}

func (m *model) contents(a *stored) []string {
	if a.bodies == nil {
		query := queuelog.ArrivalQuery{Queue: queue, Keys: []sortkey.SortKey{a.key}}
		found, _, _ := m.store.Requests(queuelog.Inside{}).Arrivals(context.Background(), query)
		for _, message := range found[0].Messages {
			a.bodies = append(a.bodies, string(message.Body))
		}
	}
	return a.bodies
}

func number(it ddb.Item, name ddb.Path) int64 {
	n, _ := it.Get(name).Int64()
	return n
}

// indexOf is where the log has the last entry that begins at a seq or before; -1 before all.
func (m *model) indexOf(seq int64) int {
	i, found := slices.BinarySearchFunc(m.log, seq, func(e entry, seq int64) int {
		return cmp.Compare(e.seq, seq)
	})
	if !found {
		i--
	}
	return i
}

// placeOf is the entry that has a seq.
func (m *model) placeOf(seq int64) (entry, bool) {
	i := m.indexOf(seq)
	if i < 0 || seq > m.log[i].last() {
		return entry{}, false
	}
	return m.log[i], true
}

func (m *model) end() int64 {
	if len(m.log) == 0 {
		return 0
	}
	return m.log[len(m.log)-1].last()
}

// Final implements [sim.Model]: the sweep gives all that are owed one their places, at once and
// when the last window is over, and closes Low behind them; and everything that was not delivered
// can be read.
func (m *model) Final() error {
	if m.keyed() {
		if err := m.settled(); err != nil {
			return err
		}
	}
	if m.restores == 0 {
		after := m.gone()
		for got, err := range m.process(nil).Read(context.Background(), queue, after,
			m.cursor().Position) {
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
	if err := m.Run.Err(); err != nil {
		return err
	}
	m.Changed = true
	return m.Check()
}

// settled has the sweep run in the end, and checks what is left.
func (m *model) settled() error {
	s := m.process(nil)
	if m.cursor().Exists() {
		rounds := 3
		if m.restores > 0 {
			rounds += len(m.stored) // what is stale is placed when the queue has come so far again
		}
		for range rounds {
			if _, err := s.Sweep(context.Background(), cursor.SweepOptions{Segments: 1}); err != nil {
				return fmt.Errorf("the sweep: %w", err)
			}
			m.Now = m.Now.Add(m.settings.Settle + world.WrongClock + m.Ahead() + m.Behind())
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
	return nil
}

// waiting is what is stored, in the order of the keys.
func (m *model) waiting() []*stored { return byKey(m.stored) }

func byKey(all map[sortkey.SortKey]*stored) []*stored {
	return slices.SortedFunc(maps.Values(all), func(a, b *stored) int {
		return cmp.Compare(a.key, b.key)
	})
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	sim.Feed(d, m.Now, m.delivered, m.Running, m.restores, m.expiries, m.closing, m.restarted)
	for _, c := range m.seen {
		m.Hash(d, c.item)
	}
	for _, o := range m.items() {
		sim.Feed(d, o.Last, string(o.Entries), o.ExpiresOn)
	}
	for _, a := range byKey(m.own) { // others are the same in all runs
		sim.Feed(d, string(a.key), a.op, a.seen, a.seq, a.digest, a.stored, a.arrived, a.expires, a.owed,
			a.answered, a.first)
	}
	for _, it := range m.Tables.Items(arrivalsTable.Name) {
		if it.Has("received") {
			m.Hash(d, it)
		}
	}
	d.Text(fmt.Sprint(m.attempts)) // in the order of its keys
	// Which writer got what is known from the entries, but for who stored it.
	for _, e := range m.log {
		if !e.others {
			sim.Feed(d, e.op, e.seq)
		}
	}
}
