// Package cursorsim plugs pkg/cursor into the simulator: its actors are the package's own code on
// [ddb.Memory], and its model checks the sorter's invariants after every step.
//
//	S1 the position never decreases
//	S2 every seq at or under it is stored or has a tombstone
//	S3 moves tile: each starts where the last ended
//	S4 an accepted message never changes
//	S5 an answer that says durable is true
//	S6 what is stored under a seq that was answered, is passed or on record, where
//	   the producer's call has to see to that
//	L1 once faults stop, the position reaches the end of the gap-free run
//	L3 all gaps that are old enough are skipped by one sweep, where the policy says so
//	F1 a put that is refused makes no queue, and of two that may start one the first does
//	E1 an erased queue stays so, and in the end nothing of it is stored but its stub
//	E2 no put that begins after a queue was erased is answered as stored, unless the
//	   queue is asynchronous, or the answer says that the cursor did not answer
//
// and, where a consumer stands behind the cursors' stream, that all it is handed is gap-free, in
// order, as it was accepted, and not beyond the position, and that nothing is left out unless the
// stream lost a record; that no message is deleted, or accepted, such that it is never delivered;
// that a seq is skipped only if it was missing long enough; and that each answer says what was so.
package cursorsim

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
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

type place struct {
	queue string
	seq   int64
}

// model is the tables, the stream and all that the invariants need to know.
type model struct {
	*world.World
	store *cursor.Store
	// knownCursors and knownMessages are what stands in the tables, by queue, as far as somebody
	// asked since it last changed.
	knownCursors  map[string]cursor.Cursor
	knownMessages map[string][]cursor.Message
	settings      cursor.Settings
	keep          time.Duration

	// cursors are the last two states of each queue's cursor; stored is what was ever stored under
	// a seq.
	cursors map[string][]state
	stored  map[place]cursor.Message
	// records are the messages that wait for their stream's handler; dropped is set when the stream
	// lost one.
	records []place
	dropped bool
	handled bool
	// leaves has the handler leave to the sweep what it cannot heal; unhealed is set when it did.
	leaves, unhealed bool
	// shards is set where the stream has several, and a later record of a queue may come before an
	// earlier one.
	shards bool
	// holeSince is since when a seq is missing while a later one is stored.
	holeSince map[place]time.Time
	// attempts counts how often a payload was given to a put.
	attempts map[string]int
	// ops are the marks that the processes made last.
	ops map[string]string
	// unfinished is set when a writer died in a call, or gave it up, or that a skip or a sweep did.
	unfinished bool
	// changes are the records of the cursors' stream that wait for the consumer, where there is one;
	// lost is set when one of them was dropped or given up, handed what the consumer was handed.
	changes        []change
	consumed, lost bool
	handed         map[place]bool
	// piece is the position from which on a run that is moved in part has to be on record,
	// -1 where that is not asked.
	piece int64
	// erased are the queues that are erased by an eraser's answer.
	erased map[string]bool
	// refused is set where every put is refused.
	refused bool
	// writing counts writes of cursors and messages under way.
	writing int
	// alarms are the wake-ups that sorters asked for, where the timer has to be enough; nil elsewhere.
	alarms sim.Alarms
}

func newModel(run *sim.Run, settings cursor.Settings) *model {
	m := &model{
		World:    world.New(run, append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())...),
		settings: settings, piece: -1,
		knownCursors: map[string]cursor.Cursor{}, knownMessages: map[string][]cursor.Message{},
		cursors: map[string][]state{}, stored: map[place]cursor.Message{},
		holeSince: map[place]time.Time{}, attempts: map[string]int{}, ops: map[string]string{},
		handed: map[place]bool{},
		erased: map[string]bool{},
	}
	m.Unseen = []string{"change", "op"}
	m.store = simdb.Queues(m.Tables)
	m.Note("streamsort-cursors", func(c ddb.Change) { delete(m.knownCursors, queueOf(c)) })
	m.Note("streamsort-messages", func(c ddb.Change) { delete(m.knownMessages, queueOf(c)) })
	return m
}

// queueOf is whose item changed.
func queueOf(c ddb.Change) string {
	if c.After.Exists() {
		return c.After.Get("queue").Str()
	}
	return c.Before.Get("queue").Str()
}

// sorter is a process: a Sorter with a memory of its own, on its view of the tables.
func (m *model) sorter(p *sim.Proc) (*cursor.Sorter, *view) {
	ops := 0
	v := &view{model: m, p: p, tables: simdb.Engine(p, m.Tables,
		&simdb.Hooks{Perform: m.perform, Older: m.older, Hash: m.HashAnswer}),
		memo: map[string]remembered{}, page: m.Page}
	s := sim.Must(cursor.New(simdb.Queues(v), &cursor.Options{
		ForEach: fanout.OneByOne, Defaults: &m.settings, Retention: m.keep, Now: m.Clock(p),
		WakeUp: m.alarms.Set,
		// A mark of the process and its own count: one that counted all puts would distinguish two
		// schedules that are alike.
		NewOp: func() []byte {
			ops++
			m.ops[p.Name()] = fmt.Sprintf("%s%d", p.Name(), ops)
			return []byte(m.ops[p.Name()])
		},
	}))
	return s, v
}

// create makes the default queue before the run: there are fewer states then, and a few scenarios
// that make it themselves show that part.
func (m *model) create() {
	s, _ := m.sorter(nil)
	sim.Must(s.Configure(context.Background(), defaultQueue, cursor.Change{
		First: &m.settings.First, Policy: &m.settings.Policy, GapAfter: &m.settings.GapAfter,
		MaxAhead: &m.settings.MaxAhead, Mode: &m.settings.Mode,
	}))
	m.Changed = true
	_ = m.Check() // notes the cursor; there is nothing yet that could be wrong
}

func (m *model) cursor(queue string) cursor.Cursor {
	c, known := m.knownCursors[queue]
	if !known {
		c, _ = m.store.Requests(queuelog.Inside{}).Cursor(context.Background(), queue, true)
		m.knownCursors[queue] = c
	}
	return c
}

func (m *model) messages(queue string) []cursor.Message {
	messages, known := m.knownMessages[queue]
	if !known {
		page, _ := m.store.Requests(queuelog.Inside{}).Messages(context.Background(),
			queuelog.Query{Queue: queue, Last: cursor.MaxSeq, Strong: true})
		messages = page.Messages
		m.knownMessages[queue] = messages
	}
	return messages
}

func (m *model) message(at place) (cursor.Message, bool) {
	from := m.messagesFrom(at.queue, at.seq)
	if len(from) == 0 || from[0].Seq != at.seq {
		return cursor.Message{}, false
	}
	return from[0], true
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
	if !m.Changed {
		return nil
	}
	m.Changed = false
	for _, it := range m.Tables.Items("streamsort-cursors") {
		c := m.cursor(it.Get("queue").Str())
		seen := m.cursors[c.Queue]
		if last := len(seen) - 1; last < 0 || seen[last].Cursor != c {
			var older cursor.Cursor
			if last >= 0 {
				older = seen[last].Cursor
			}
			if older.Erased() && !c.Erased() {
				return fmt.Errorf("E1: queue %s was erased, and is not any more", c.Queue)
			}
			if last >= 0 && c.Settings.First != older.Settings.First {
				return fmt.Errorf("F1: the queue started at %d, and now at %d", older.Settings.First,
					c.Settings.First)
			}
			if last >= 0 && c.Position < older.Position && !c.Erased() {
				return fmt.Errorf("S1: the position went back from %d to %d", older.Position, c.Position)
			}
			if m.consumed {
				m.changes = append(m.changes, change{older, c})
			}
			m.cursors[c.Queue] = append(seen[max(last, 0):], state{c, it})
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
	if c.Erased() {
		return
	}
	expect := c.Position + 1
	for _, stored := range m.messagesFrom(c.Queue, expect) {
		for ; expect < stored.Seq; expect++ {
			if _, known := m.holeSince[place{c.Queue, expect}]; !known {
				m.holeSince[place{c.Queue, expect}] = m.Now
			}
		}
		delete(m.holeSince, place{c.Queue, stored.Seq})
		expect = stored.Seq + 1
	}
}

func (m *model) messagesFrom(queue string, first int64) []cursor.Message {
	messages := m.messages(queue)
	for i, message := range messages {
		if message.Seq >= first {
			return messages[i:]
		}
	}
	return nil
}

// Final implements [sim.Model].
func (m *model) Final() error {
	if m.refused && len(m.cursors) > 0 {
		return errors.New("F1: a put that was refused made a queue")
	}
	if m.handled && !m.dropped {
		// The stream's handler has seen every record: nothing is left for a sweep to find.
		if err := m.reached("the stream's handler"); err != nil {
			return err
		}
	}
	m.unhealed = false
	if !m.unfinished && m.settings.Mode == cursor.ModeSync && m.Page == 0 {
		// Every call came to its end, if only by being repeated. From what takes many pages, it
		// leaves the rest to the handler.
		if err := m.reached("the writers"); err != nil {
			return err
		}
	}
	if err := m.allDelivered(); err != nil {
		return err
	}
	if err := m.onRecord(); err != nil {
		return err
	}
	s := sim.Must(cursor.New(m.store, &cursor.Options{
		ForEach: fanout.OneByOne, Defaults: &m.settings, Now: func() time.Time {
			return m.Now
		}, WakeUp: m.alarms.Set,
	}))
	if err := m.byTimer(s); err != nil {
		return err
	}
	m.Now = m.Now.Add(24 * time.Hour)
	old := m.oldGaps()
	if _, err := s.Sweep(world.Limited(10_000), cursor.SweepOptions{Segments: 1}); err != nil {
		return err
	}
	if err := m.reached("the sweep"); err != nil {
		return err
	}
	if err := m.empty(); err != nil {
		return err
	}
	for _, queue := range m.live() {
		c := m.cursor(queue)
		if at, gap := old[queue]; gap && c.GapOpen() {
			return fmt.Errorf("L3: the gaps from %d on are a day old, and the sweep stopped at %d",
				at, c.Position)
		}
		if waiting := m.messagesFrom(queue, c.Position+1); len(waiting) > 0 && !c.GapOpen() {
			return fmt.Errorf("L2: seq %d waits behind a gap that is not on record", waiting[0].Seq)
		}
	}
	m.Changed = true
	if err := m.Check(); err != nil {
		return err
	}
	if err := m.consumeRest(s); err != nil {
		return err
	}
	return m.unchanged()
}

// byTimer checks that no sweep is needed where each wake-up comes: no gap stays open.
func (m *model) byTimer(s *cursor.Sorter) error {
	if m.alarms == nil {
		return nil
	}
	if err := m.alarms.Run(&m.Now, func(queue string) (time.Time, error) {
		_, next, err := s.Wake(world.Limited(1_000), queue, cursor.SweepOptions{})
		return next, err
	}); err != nil {
		return err
	}
	for _, queue := range m.live() {
		if waiting := m.messagesFrom(queue, m.cursor(queue).Position+1); len(waiting) > 0 {
			return fmt.Errorf("timer: every wake-up came, and seq %d waits at position %d", waiting[0].Seq,
				m.cursor(queue).Position)
		}
	}
	m.Changed = true
	return m.Check()
}

// oldGaps are the positions of the queues whose gap has to be skipped.
func (m *model) oldGaps() map[string]int64 {
	gaps := map[string]int64{}
	for _, queue := range m.live() {
		if c := m.cursor(queue); c.GapOpen() && m.settings.Policy == cursor.PolicySkip {
			gaps[queue] = c.Position
		}
	}
	return gaps
}

func (m *model) reached(by string) error {
	for _, queue := range m.live() {
		if m.unhealed && m.cursor(queue).GapOpen() {
			continue // the next run of the sweep sees that
		}
		if end := m.runEnd(queue); m.cursor(queue).Position != end {
			return fmt.Errorf("L1: after %s the position is %d, and the run ends at %d", by,
				m.cursor(queue).Position, end)
		}
	}
	return nil
}

func (m *model) live() []string {
	return slices.DeleteFunc(m.QueueNames(), func(queue string) bool {
		return m.cursor(queue).Erased()
	})
}

// empty checks E1 when the last sweep was run.
func (m *model) empty() error {
	for _, queue := range m.QueueNames() {
		c := m.cursor(queue)
		switch left := m.messages(queue); {
		case !c.Erased() && m.erased[queue]:
			return fmt.Errorf("E1: queue %s was said to be erased, and is not", queue)
		case c.Erased() && len(left) > 0:
			return fmt.Errorf("E1: queue %s was erased, and %d is stored", queue, left[0].Seq)
		case c.Erased() && c.Erasure.Emptied.IsZero():
			return fmt.Errorf("E1: queue %s is empty, and nobody says so", queue)
		}
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	sim.Feed(d, m.Now, m.Running, m.dropped, m.unhealed, m.unfinished, len(m.erased),
		fmt.Sprint(m.records))
	for _, queue := range m.QueueNames() {
		d.Text(queue)
		// What a stale read can still show is part of the state.
		for _, c := range m.cursors[queue] {
			m.Hash(d, c.item)
		}
		messages := m.messagesFrom(queue, 0)
		d.Int(int64(len(messages)))
		for _, it := range m.Tables.Items("streamsort-messages") {
			// An older mark is nobody's any more.
			op := string(it.Get("op").Bytes())
			for name := range m.ops {
				if m.ops[name] == op {
					d.Text(name)
				}
			}
			d.Int(0)
		}
		for _, stored := range messages {
			sim.Feed(d, stored.Seq, string(stored.Body), stored.Tombstone, stored.ExpiresOn,
				stored.EnqueuedAt)
		}
		for _, stored := range messages {
			// All seqs of one hole are missing since the same moment.
			if since, hole := m.holeSince[place{queue, stored.Seq - 1}]; hole && !m.cursor(queue).Erased() {
				d.Int(since.Unix())
			}
		}
	}
	// Which messages were deleted, and which puts were tried more than once.
	sim.Feed(d, len(m.stored), fmt.Sprint(m.attempts)) // in the order of its keys
	m.hashConsumer(d)
	m.alarms.Hash(d)
}
