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
// and that no message is deleted, or accepted, such that it is never handed
// on; that a seq is skipped only if it was missing long enough; and that each
// answer says what was so.
package cursorsim

import (
	"bytes"
	"context"
	"fmt"
	"hash"
	"maps"
	"slices"
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

	// cursors are all states of each queue's cursor so far; stored is what
	// was ever stored under a seq; order is when, for stale reads.
	cursors map[string][]cursor.Cursor
	stored  map[place]cursor.Message
	order   []place
	// records wait for the stream's handler; dropped tells that the stream
	// lost one.
	records []record
	dropped bool
	handled bool
	// holeSince is since when a seq lies between the position and the first
	// stored one beyond it.
	holeSince map[place]time.Time
	// attempts counts how often a payload was given to a put.
	attempts map[string]int
	// running counts operations under way: the longest of them is shorter
	// than the time that must pass before a message is deleted.
	running int
}

func newModel(run *sim.Run, settings cursor.Settings) *model {
	return &model{
		run: run, settings: settings, now: start,
		cursors: map[string][]cursor.Cursor{}, stored: map[place]cursor.Message{},
		holeSince: map[place]time.Time{}, attempts: map[string]int{},
	}
}

// sorter is a process: a Sorter with a memory of its own.
func (m *model) sorter(p *sim.Proc) *cursor.Sorter {
	ops := 0
	s, err := cursor.New(&store{m, p}, &cursor.Options{
		Defaults: &m.settings, Retention: m.keep, Now: func() time.Time { return m.now },
		// A mark of the process and its own count: one that counted all puts
		// would tell two schedules apart that are alike.
		NewOp: func() []byte { ops++; return fmt.Appendf(nil, "%s%d", p.Name(), ops) },
	})
	if err != nil {
		panic(err) // a scenario with settings out of bounds
	}
	return s
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
	for _, queue := range m.memory.Queues() {
		c := m.cursor(queue)
		if !c.Exists() {
			return fmt.Errorf("queue %s has messages and no cursor: no sweep finds it", queue)
		}
		if seen := m.cursors[queue]; len(seen) == 0 || seen[len(seen)-1] != c {
			if len(seen) > 0 && c.Position < seen[len(seen)-1].Position {
				return fmt.Errorf("S1: the position went back from %d to %d", seen[len(seen)-1].Position, c.Position)
			}
			m.cursors[queue] = append(seen, c)
		}
		m.holes(c)
	}
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

// holes notes since when seqs are missing that stop a queue.
func (m *model) holes(c cursor.Cursor) {
	page, _ := m.memory.Messages(context.Background(), cursor.Query{
		Queue: c.Queue, First: c.Position + 1, Last: cursor.MaxSeq, Limit: 1,
	})
	for at := range m.holeSince {
		if at.queue == c.Queue && (at.seq <= c.Position || len(page.Messages) == 0 || at.seq >= page.Messages[0].Seq) {
			delete(m.holeSince, at)
		}
	}
	if len(page.Messages) == 0 {
		return
	}
	for seq := c.Position + 1; seq < page.Messages[0].Seq; seq++ {
		if _, known := m.holeSince[place{c.Queue, seq}]; !known {
			m.holeSince[place{c.Queue, seq}] = m.now
		}
	}
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
	s, err := cursor.New(&m.memory, &cursor.Options{Defaults: &m.settings, Now: func() time.Time { return m.now }})
	if err != nil {
		return err
	}
	for _, queue := range m.memory.Queues() {
		if _, err := s.Recheck(context.Background(), queue); err != nil {
			return err
		}
	}
	if err := m.reached("the sweep"); err != nil {
		return err
	}
	for _, queue := range m.memory.Queues() {
		c := m.cursor(queue)
		page, _ := m.memory.Messages(context.Background(), cursor.Query{Queue: queue, First: c.Position + 1, Last: cursor.MaxSeq})
		if len(page.Messages) > 0 && !c.GapOpen() {
			return fmt.Errorf("L2: seq %d waits behind a gap that is not on record", page.Messages[0].Seq)
		}
	}
	return m.Check()
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
func (m *model) Snapshot(h hash.Hash) {
	fmt.Fprint(h, m.now.Unix(), m.records, m.dropped, m.running, ";")
	for _, queue := range m.memory.Queues() {
		history := m.cursors[queue]
		// What a stale read can still show is part of the state.
		fmt.Fprint(h, history[max(0, len(history)-2):], ";")
		page, _ := m.memory.Messages(context.Background(), cursor.Query{Queue: queue, First: 0, Last: cursor.MaxSeq})
		for _, stored := range page.Messages {
			fmt.Fprint(h, stored.Seq, string(stored.Body), stored.Tombstone, stored.ExpiresOn.Unix(), ";")
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(m.holeSince), func(a, b place) int { return int(a.seq - b.seq) }) {
		fmt.Fprint(h, at, m.holeSince[at].Unix(), ";")
	}
}

// store is the tables as one actor sees them.
type store struct {
	*model
	p *sim.Proc
}

// Store's answers that need a second value.
type (
	moveAnswer struct {
		cursor.Cursor
		Moved bool
	}
	messageAnswer struct {
		cursor.Message
		Found bool
	}
)

func (s *store) CreateCursor(ctx context.Context, c cursor.Cursor) (cursor.Cursor, error) {
	return sim.Do(s.p, "create cursor of "+c.Queue, true, func() (cursor.Cursor, error) {
		return s.memory.CreateCursor(ctx, c)
	})
}

func (s *store) Cursor(ctx context.Context, queue string, strong bool) (cursor.Cursor, error) {
	request := func() (cursor.Cursor, error) { return s.memory.Cursor(ctx, queue, strong) }
	if strong {
		return sim.Read(s.p, "get cursor of "+queue, request)
	}
	history := s.cursors[queue]
	var older []func() (cursor.Cursor, error)
	if len(history) > 0 {
		older = append(older, func() (cursor.Cursor, error) { return cursor.Cursor{}, nil })
	}
	if len(history) > 1 {
		older = append(older, func() (cursor.Cursor, error) { return history[len(history)-2], nil })
		older = append(older, func() (cursor.Cursor, error) { return history[0], nil })
	}
	return sim.Read(s.p, "get cursor of "+queue+" (any)", request, older...)
}

func (s *store) Move(ctx context.Context, queue string, from, to int64, now time.Time) (cursor.Cursor, bool, error) {
	label := fmt.Sprintf("move %s from %d to %d", queue, from, to)
	answer, err := sim.Do(s.p, label, true, func() (moveAnswer, error) {
		before := s.cursor(queue)
		c, moved, err := s.memory.Move(ctx, queue, from, to, now)
		if moved {
			s.checkMove(before, cursor.Range{From: from, To: to})
		}
		return moveAnswer{c, moved}, err
	})
	return answer.Cursor, answer.Moved, err
}

// checkMove checks S2 and S3 for a move that was made.
func (m *model) checkMove(before cursor.Cursor, moved cursor.Range) {
	if before.Position != moved.From || moved.To <= moved.From {
		m.run.Violation("S3: a move from %d to %d, while the position was %d", moved.From, moved.To, before.Position)
	}
	for seq := moved.From + 1; seq <= moved.To; seq++ {
		if _, ok := m.message(place{before.Queue, seq}); !ok {
			m.run.Violation("S2: the position moved to %d, and seq %d is not stored", moved.To, seq)
		}
	}
}

func (s *store) OpenGap(ctx context.Context, queue string, seq int64, now time.Time) (cursor.Cursor, error) {
	return sim.Do(s.p, fmt.Sprintf("open gap of %s up to %d", queue, seq), true, func() (cursor.Cursor, error) {
		return s.memory.OpenGap(ctx, queue, seq, now)
	})
}

func (s *store) WidenGap(ctx context.Context, queue string, seq int64) (cursor.Cursor, error) {
	return sim.Do(s.p, fmt.Sprintf("widen gap of %s up to %d", queue, seq), true, func() (cursor.Cursor, error) {
		return s.memory.WidenGap(ctx, queue, seq)
	})
}

func (s *store) Configure(ctx context.Context, queue string, change cursor.Change) (cursor.Cursor, bool, error) {
	answer, err := sim.Do(s.p, "configure "+queue, true, func() (moveAnswer, error) {
		c, changed, err := s.memory.Configure(ctx, queue, change)
		return moveAnswer{c, changed}, err
	})
	return answer.Cursor, answer.Moved, err
}

func (s *store) Announce(ctx context.Context, queue string, was, seq int64) (bool, error) {
	return sim.Do(s.p, fmt.Sprintf("note gap %d of %s", seq, queue), true, func() (bool, error) {
		return s.memory.Announce(ctx, queue, was, seq)
	})
}

func (s *store) Cursors(ctx context.Context, scan cursor.CursorScan) (cursor.CursorPage, error) {
	return sim.Read(s.p, "scan cursors", func() (cursor.CursorPage, error) { return s.memory.Cursors(ctx, scan) })
}

func (s *store) PutMessage(ctx context.Context, m cursor.Message) (cursor.Message, error) {
	at := place{m.Queue, m.Seq}
	label := fmt.Sprintf("put %s/%d %s%s", m.Queue, m.Seq, m.Body, m.Tombstone)
	return sim.Do(s.p, label, true, func() (cursor.Message, error) {
		_, occupied := s.message(at)
		there, err := s.memory.PutMessage(ctx, m)
		if now, _ := s.message(at); err == nil && (!occupied || !same(now, s.stored[at])) {
			s.checkPut(at, m)
		}
		return there, err
	})
}

// checkPut checks a message or tombstone that was just stored.
func (m *model) checkPut(at place, stored cursor.Message) {
	if was, ever := m.stored[at]; ever && !same(was, stored) {
		m.run.Violation("S4: the message at %v was replaced", at)
	}
	c := m.cursor(at.queue)
	if at.seq <= c.Position {
		m.run.Violation("a message at %v was stored behind the position %d: it is never handed on", at, c.Position)
	}
	if stored.Tombstone != "" {
		since, hole := m.holeSince[at]
		if !hole || m.now.Sub(since) < m.settings.GapAfter {
			m.run.Violation("seq %d was skipped after %v as a missing one (hole: %v)", at.seq, m.now.Sub(since), hole)
		}
	}
	m.stored[at] = stored
	m.order = append(m.order, at)
	m.records = append(m.records, record(at))
}

func (s *store) Message(ctx context.Context, queue string, seq int64) (cursor.Message, bool, error) {
	answer, err := sim.Read(s.p, fmt.Sprintf("get %s/%d", queue, seq), func() (messageAnswer, error) {
		m, found, err := s.memory.Message(ctx, queue, seq)
		return messageAnswer{m, found}, err
	})
	return answer.Message, answer.Found, err
}

func (s *store) Messages(ctx context.Context, query cursor.Query) (cursor.Page, error) {
	label := fmt.Sprintf("query %s from %d", query.Queue, query.First)
	request := func() (cursor.Page, error) { return s.memory.Messages(ctx, query) }
	if query.Strong {
		return sim.Read(s.p, label, request)
	}
	without := func(count int) func() (cursor.Page, error) {
		return func() (cursor.Page, error) {
			page, err := s.memory.Messages(ctx, query)
			hidden := s.order[max(0, len(s.order)-count):]
			page.Messages = slices.DeleteFunc(page.Messages, func(m cursor.Message) bool {
				return slices.Contains(hidden, place{m.Queue, m.Seq})
			})
			return page, err
		}
	}
	return sim.Read(s.p, label+" (any)", request, without(1), without(len(s.order)))
}

func (s *store) KeepUntil(ctx context.Context, queue string, seq int64, until time.Time) error {
	_, err := sim.Do(s.p, fmt.Sprintf("keep %s/%d", queue, seq), true, func() (bool, error) {
		_, before := s.message(place{queue, seq})
		err := s.memory.KeepUntil(ctx, queue, seq, until)
		if _, after := s.message(place{queue, seq}); after && !before {
			s.run.Violation("a hollow message was made at %d", seq)
		}
		return true, err
	})
	return err
}

func (s *store) SweepProgress(ctx context.Context, name string) (cursor.Progress, error) {
	return sim.Read(s.p, "get progress "+name, func() (cursor.Progress, error) { return s.memory.SweepProgress(ctx, name) })
}

func (s *store) SaveSweepProgress(ctx context.Context, progress cursor.Progress) error {
	_, err := sim.Do(s.p, "save progress "+progress.Name, true, func() (bool, error) {
		return true, s.memory.SaveSweepProgress(ctx, progress)
	})
	return err
}
