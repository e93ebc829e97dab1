// Package cursorsim plugs pkg/cursor into the simulator: its actors are the
// package's own code on [cursor.Memory], and its model checks the sorter's
// invariants after every step.
//
//	S1 the position never decreases
//	S2 every seq at or under it is stored or has a tombstone
//	S3 moves tile: each starts where the last ended
//	S4 an accepted message never changes
//	S5 an answer that says durable is true
//	L1 once faults stop, the position reaches the end of the gap-free run
//
// and, where a consumer stands behind the cursors' stream, that all it is
// handed is gap-free, in order, as it was accepted, and not beyond the
// position, and that nothing is left out unless the stream lost a record; that
// no message is deleted, or accepted, such that it is never handed on; that a
// seq is skipped only if it was missing long enough; and that each answer says
// what was so.
package cursorsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// start is when every run begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// place is a seq of a queue.
type place struct {
	queue string
	seq   int64
}

// record is a record of the messages' stream.
type record struct {
	queue string
	seq   int64
}

// model is the tables, the stream and all that the invariants need to know.
type model struct {
	run      *sim.Run
	memory   cursor.Memory
	settings cursor.Settings
	keep     time.Duration
	now      time.Time

	// cursors are the last two states of each queue's cursor; stored is what
	// was ever stored under a seq.
	cursors map[string][]cursor.Cursor
	stored  map[place]cursor.Message
	// changed tells that the tables or the clock did since the last Check.
	changed bool
	// records wait for the stream's handler; dropped tells that the stream
	// lost one.
	records []record
	dropped bool
	handled bool
	// holeSince is since when a seq is missing while a later one is stored.
	holeSince map[place]time.Time
	// attempts counts how often a payload was given to a put, attemptsSum
	// tells all of that in a number.
	attempts    map[string]int
	attemptsSum int64
	// unfinished tells that a writer died in a call, or gave it up, or that a
	// skip or a sweep did.
	unfinished bool
	// changes are the records of the cursors' stream that wait for the
	// consumer, where there is one; lost tells that one of them was dropped or
	// given up, handed what the consumer was handed.
	changes        []change
	consumed, lost bool
	handed         map[place]bool
	// running counts operations under way: the longest of them is shorter
	// than the time that must pass before a message is deleted.
	running int
	// writing counts writes of cursors under way.
	writing int
}

func newModel(run *sim.Run, settings cursor.Settings) *model {
	return &model{
		run: run, settings: settings, now: start,
		cursors: map[string][]cursor.Cursor{}, stored: map[place]cursor.Message{},
		holeSince: map[place]time.Time{}, attempts: map[string]int{}, handed: map[place]bool{},
	}
}

// sorter is a process: a Sorter with a memory of its own, on its view of the
// tables.
func (m *model) sorter(p *sim.Proc) (*cursor.Sorter, *store) {
	ops := 0
	view := &store{model: m, ArrivalStore: &m.memory, p: p, memo: map[string]remembered{}}
	s, err := cursor.New(view, &cursor.Options{
		Defaults: &m.settings, Retention: m.keep, Now: func() time.Time { return m.now },
		// A mark of the process and its own count: one that counted all puts
		// would tell two schedules apart that are alike.
		NewOp: func() []byte { ops++; return fmt.Appendf(nil, "%s%d", p.Name(), ops) },
	})
	if err != nil {
		panic(err) // a scenario with settings out of bounds
	}
	return s, view
}

// create makes the default queue before the run: there are fewer states then,
// and a few scenarios that make it themselves show that part.
func (m *model) create() {
	s, err := cursor.New(&m.memory, &cursor.Options{Now: func() time.Time { return m.now }})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	if _, err := s.Configure(context.Background(), defaultQueue, cursor.Change{
		First: &m.settings.First, Policy: &m.settings.Policy, GapAfter: &m.settings.GapAfter,
		MaxAhead: &m.settings.MaxAhead, Mode: &m.settings.Mode,
	}); err != nil {
		panic(err) // a scenario with settings out of bounds
	}
	m.changed = true
	_ = m.Check() // notes the cursor; there is nothing yet that could be wrong
}

// cursor is the queue's cursor as it stands.
func (m *model) cursor(queue string) cursor.Cursor {
	c, _ := m.memory.Cursor(context.Background(), queue, true)
	return c
}

// message is what is stored at a place.
func (m *model) message(at place) (cursor.Message, bool) {
	found, ok, _ := m.memory.Message(context.Background(), at.queue, at.seq)
	return found, ok
}

// runEnd is the end of the run that is stored behind the position.
func (m *model) runEnd(queue string) int64 {
	seq := m.cursor(queue).Position
	for {
		if _, ok := m.message(place{queue, seq + 1}); !ok {
			return seq
		}
		seq++
	}
}

// Check implements [sim.Model].
func (m *model) Check() error {
	if !m.changed {
		return nil
	}
	m.changed = false
	for _, queue := range m.memory.Queues() {
		c := m.cursor(queue)
		if !c.Exists() {
			return fmt.Errorf("queue %s has messages and no cursor: no sweep finds it", queue)
		}
		seen := m.cursors[queue]
		if last := len(seen) - 1; last < 0 || seen[last] != c {
			if last >= 0 && c.Position < seen[last].Position {
				return fmt.Errorf("S1: the position went back from %d to %d", seen[last].Position, c.Position)
			}
			if m.consumed {
				var older cursor.Cursor
				if last >= 0 {
					older = seen[last]
				}
				m.changes = append(m.changes, change{older, c})
			}
			m.cursors[queue] = append(seen[max(last, 0):], c)
		}
		m.holes(c)
	}
	return nil
}

// unchanged checks S4.
func (m *model) unchanged() error {
	for at, was := range m.stored {
		if now, ok := m.message(at); ok && !same(now, was) {
			return fmt.Errorf("S4: the message at %v changed", at)
		}
	}
	return nil
}

func same(a, b cursor.Message) bool {
	return bytes.Equal(a.Body, b.Body) && a.ID == b.ID && a.Tombstone == b.Tombstone
}

// holes notes since when seqs are missing while later ones are stored.
func (m *model) holes(c cursor.Cursor) {
	expect := c.Position + 1
	for _, stored := range m.messagesFrom(c.Queue, expect) {
		for ; expect < stored.Seq; expect++ {
			if _, known := m.holeSince[place{c.Queue, expect}]; !known {
				m.holeSince[place{c.Queue, expect}] = m.now
			}
		}
		delete(m.holeSince, place{c.Queue, stored.Seq})
		expect = stored.Seq + 1
	}
}

// messagesFrom is what is stored from a seq on.
func (m *model) messagesFrom(queue string, first int64) []cursor.Message {
	page, _ := m.memory.Messages(context.Background(), cursor.Query{Queue: queue, First: first, Last: cursor.MaxSeq})
	return page.Messages
}

// Final implements [sim.Model].
func (m *model) Final() error {
	if m.handled && !m.dropped {
		// The stream's handler has seen every record: nothing is left for a
		// sweep to find.
		if err := m.reached("the stream's handler"); err != nil {
			return err
		}
	}
	if !m.unfinished && m.settings.Mode == cursor.ModeSync {
		// Every call came to its end, if only by being repeated.
		if err := m.reached("the writers"); err != nil {
			return err
		}
	}
	if err := m.allHandedOn(); err != nil {
		return err
	}
	m.now = m.now.Add(24 * time.Hour)
	s, err := cursor.New(&m.memory, &cursor.Options{Defaults: &m.settings, Now: func() time.Time { return m.now }})
	if err != nil {
		return err
	}
	if _, err := s.Sweep(&limited{Context: context.Background(), left: 10_000}, cursor.SweepOptions{Segments: 1}); err != nil {
		return err
	}
	if err := m.reached("the sweep"); err != nil {
		return err
	}
	for _, queue := range m.memory.Queues() {
		c := m.cursor(queue)
		if waiting := m.messagesFrom(queue, c.Position+1); len(waiting) > 0 && !c.GapOpen() {
			return fmt.Errorf("L2: seq %d waits behind a gap that is not on record", waiting[0].Seq)
		}
	}
	m.changed = true
	if err := m.Check(); err != nil {
		return err
	}
	if err := m.consumeRest(s); err != nil {
		return err
	}
	return m.unchanged()
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

func (m *model) reached(by string) error {
	for _, queue := range m.memory.Queues() {
		if end := m.runEnd(queue); m.cursor(queue).Position != end {
			return fmt.Errorf("L1: after %s the position is %d, and the run ends at %d", by, m.cursor(queue).Position, end)
		}
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.now.Unix())
	d.Int(int64(m.running))
	d.Bool(m.dropped)
	d.Bool(m.unfinished)
	d.Int(int64(len(m.records)))
	for _, r := range m.records {
		d.Text(r.queue)
		d.Int(r.seq)
	}
	for _, queue := range m.memory.Queues() {
		d.Text(queue)
		// What a stale read can still show is part of the state.
		for _, c := range m.cursors[queue] {
			hashCursor(d, c)
		}
		messages := m.messagesFrom(queue, 0)
		hashMessages(d, messages)
		for _, stored := range messages {
			// All seqs of one hole are missing since the same moment.
			if since, hole := m.holeSince[place{queue, stored.Seq - 1}]; hole {
				d.Int(since.Unix())
			}
		}
	}
	// Which messages were deleted, and which puts were tried more than once.
	d.Int(int64(len(m.stored)))
	d.Int(m.attemptsSum)
	m.hashConsumer(d)
}
