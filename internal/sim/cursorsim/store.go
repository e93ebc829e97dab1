package cursorsim

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// store is the tables as one process sees them.
type store struct {
	*model
	// Numbered queues ask nothing of it: package arrivalsim has the others.
	cursor.ArrivalStore
	p *sim.Proc
	// memo is the same as the memory of the process's Sorter: all of what it
	// keeps from one operation to the next.
	memo map[string]remembered
	// putting is true in a call of a producer, at is the place in its program,
	// puts are the answers to the call's puts, moves the moves that it tried.
	putting     bool
	at          int
	puts, moves sim.Digest
	// page, if not 0, is the most messages that a query without a limit shows.
	page int
}

// forget makes the process's state what its Sorter remembers and at, the
// place in its own program.
func (s *store) forget(at int) *sim.Digest {
	d := s.p.Forget()
	d.Int(int64(at))
	for _, queue := range slices.Sorted(maps.Keys(s.memo)) {
		d.Text(queue)
		hashCursor(d, s.memo[queue].cursor)
		d.Int(s.memo[queue].read.Unix())
	}
	return d
}

// begin is the begin of a producer's call.
func (s *store) begin(at int) {
	s.putting, s.at, s.puts, s.moves = true, at, sim.Digest{}, sim.Digest{}
	s.forget(at)
}

// settle is called after a strong look at a cursor, or a write of one. A
// producer's call goes on from there with nothing but what its puts were
// answered, the moves it made and this cursor: each later one replaces the
// earlier in all that Sorter.advance does. A call is of one queue: see put.
func (s *store) settle(kind int64, answer cursorAnswer) {
	if !s.putting {
		return
	}
	d := s.forget(s.at)
	d.Int(kind)
	d.Digest(s.puts)
	d.Digest(s.moves)
	answer.Hash(d)
}

// remember does what the Sorter does with an answer to a request that began at
// this time.
func (s *store) remember(c cursor.Cursor, began time.Time, err error) {
	if was, ok := s.memo[c.Queue]; ok && was.cursor.Position > c.Position {
		return
	}
	if err == nil && c.Exists() {
		s.memo[c.Queue] = remembered{c, began}
	}
}

// The kinds of request after which a call settles.
const (
	kindLook = iota
	kindCreate
	kindMove
	kindPark
	kindConfigure
)

// writeCursor is a write of a cursor.
func (s *store) writeCursor(kind int64, label sim.Label, request func() (cursor.Cursor, bool, error)) (cursor.Cursor, bool, error) {
	began := s.now
	s.writing++
	defer func() { s.writing-- }()
	answer, err := sim.Do(s.p, label, true, func() (cursorAnswer, error) {
		s.changed = true
		c, done, err := request()
		return cursorAnswer{c, done}, err
	})
	s.remember(answer.Cursor, began, err)
	if err == nil {
		s.settle(kind, answer)
	}
	return answer.Cursor, answer.Done, err
}

func (s *store) CreateCursor(ctx context.Context, c cursor.Cursor) (cursor.Cursor, error) {
	there, _, err := s.writeCursor(kindCreate, sim.Labelf("create cursor of %s", c.Queue), func() (cursor.Cursor, bool, error) {
		there, err := s.memory.CreateCursor(ctx, c)
		return there, true, err
	})
	return there, err
}

func (s *store) Cursor(ctx context.Context, queue string, strong bool) (cursor.Cursor, error) {
	began := s.now
	label := sim.Labelf("get cursor of %s", queue)
	var older []func() (cursorAnswer, error)
	if !strong {
		label = sim.Labelf("get cursor of %s (any)", queue)
		if seen := s.cursors[queue]; len(seen) > 0 {
			older = append(older, func() (cursorAnswer, error) { return cursorAnswer{}, nil })
			if len(seen) > 1 {
				older = append(older, func() (cursorAnswer, error) { return cursorAnswer{seen[0], true}, nil })
			}
		}
	}
	answer, err := sim.Read(s.p, label, func() (cursorAnswer, error) {
		c, err := s.memory.Cursor(ctx, queue, strong)
		return cursorAnswer{c, true}, err
	}, older...)
	s.remember(answer.Cursor, began, err)
	if err == nil && strong {
		s.settle(kindLook, answer)
	}
	return answer.Cursor, err
}

func (s *store) Move(ctx context.Context, queue string, from, to int64, now time.Time) (cursor.Cursor, bool, error) {
	// One that fails may count as the call's own all the same.
	s.moves.Int(from)
	s.moves.Int(to)
	return s.writeCursor(kindMove, sim.Labelf("move %s from %d to %d", queue, from, to), func() (cursor.Cursor, bool, error) {
		before := s.cursor(queue)
		c, moved, err := s.memory.Move(ctx, queue, from, to, now)
		if moved {
			s.checkMove(before, cursor.Range{From: from, To: to})
		}
		return c, moved, err
	})
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

// checkPark checks that a gap that was just put on record is one.
func (m *model) checkPark(before, after cursor.Cursor) {
	switch {
	case after.Parked < before.Parked:
		m.run.Violation("parked was lowered from %d to %d", before.Parked, after.Parked)
	case after.Parked > before.Parked && after.Parked <= after.Position+1:
		m.run.Violation("a gap is on record up to %d, and the position is %d", after.Parked, after.Position)
	}
}

func (s *store) OpenGap(ctx context.Context, queue string, seq int64, now time.Time) (cursor.Cursor, error) {
	c, _, err := s.writeCursor(kindPark, sim.Labelf("open gap of %s up to %d", queue, seq), func() (cursor.Cursor, bool, error) {
		before := s.cursor(queue)
		c, err := s.memory.OpenGap(ctx, queue, seq, now)
		s.checkPark(before, c)
		return c, true, err
	})
	return c, err
}

func (s *store) WidenGap(ctx context.Context, queue string, seq int64) (cursor.Cursor, error) {
	c, _, err := s.writeCursor(kindPark, sim.Labelf("widen gap of %s up to %d", queue, seq), func() (cursor.Cursor, bool, error) {
		before := s.cursor(queue)
		c, err := s.memory.WidenGap(ctx, queue, seq)
		s.checkPark(before, c)
		return c, true, err
	})
	return c, err
}

func (s *store) Configure(ctx context.Context, queue string, change cursor.Change) (cursor.Cursor, bool, error) {
	return s.writeCursor(kindConfigure, sim.Labelf("configure %s", queue), func() (cursor.Cursor, bool, error) {
		return s.memory.Configure(ctx, queue, change)
	})
}

func (s *store) Announce(ctx context.Context, queue string, was, seq int64) (bool, error) {
	return sim.Do(s.p, sim.Labelf("note gap %d of %s", seq, queue), true, func() (bool, error) {
		s.changed = true
		return s.memory.Announce(ctx, queue, was, seq)
	})
}

func (s *store) Cursors(ctx context.Context, scan cursor.CursorScan) (cursor.CursorPage, error) {
	answer, err := sim.Read(s.p, sim.Labelf("scan cursors"), func() (cursorsAnswer, error) {
		page, err := s.memory.Cursors(ctx, scan)
		return cursorsAnswer{page}, err
	})
	return answer.CursorPage, err
}

func (s *store) PutMessage(ctx context.Context, m cursor.Message) (cursor.Message, error) {
	at := place{m.Queue, m.Seq}
	answer, err := sim.Do(s.p, sim.Labelf("put %s/%d %s%s", m.Queue, m.Seq, m.Body, m.Tombstone), true, func() (messageAnswer, error) {
		s.changed = true
		_, occupied := s.message(at)
		there, err := s.memory.PutMessage(ctx, m)
		if now, _ := s.message(at); err == nil && (!occupied || !same(now, s.stored[at])) {
			s.checkPut(at, m)
		}
		return messageAnswer{Message: there, Found: true, mine: bytes.Equal(there.Op, m.Op)}, err
	})
	if s.putting {
		s.puts.Bool(err == nil)
		answer.Hash(&s.puts)
	}
	return answer.Message, err
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
	m.records = append(m.records, record(at))
}

func (s *store) Message(ctx context.Context, queue string, seq int64) (cursor.Message, bool, error) {
	answer, err := sim.Read(s.p, sim.Labelf("get %s/%d", queue, seq), func() (messageAnswer, error) {
		m, found, err := s.memory.Message(ctx, queue, seq)
		return messageAnswer{Message: m, Found: found}, err
	})
	if s.putting {
		// One that was passed; or a scan, which does no harm here.
		s.puts.Bool(err == nil)
		answer.Hash(&s.puts)
	}
	return answer.Message, answer.Found, err
}

func (s *store) Messages(ctx context.Context, query cursor.Query) (cursor.Page, error) {
	label := sim.Labelf("query %s from %d", query.Queue, query.First)
	if query.Limit == 0 {
		query.Limit = s.page
	}
	page := func() (pageAnswer, error) {
		page, err := s.memory.Messages(ctx, query)
		return pageAnswer{page}, err
	}
	if query.Strong {
		answer, err := sim.Read(s.p, label, page)
		return answer.Page, err
	}
	// A read that is not strong may miss any one message, or all.
	without := func(hidden func(i int) bool) func() (pageAnswer, error) {
		return func() (pageAnswer, error) {
			answer, err := page()
			var shown []cursor.Message
			for i, m := range answer.Messages {
				if !hidden(i) {
					shown = append(shown, m)
				}
			}
			answer.Messages = shown
			return answer, err
		}
	}
	older := []func() (pageAnswer, error){without(func(int) bool { return true })}
	for one := range 3 {
		older = append(older, without(func(i int) bool { return i == one }))
	}
	answer, err := sim.Read(s.p, label, page, older...)
	return answer.Page, err
}

func (s *store) KeepUntil(ctx context.Context, queue string, seq int64, until time.Time) (bool, error) {
	return sim.Do(s.p, sim.Labelf("keep %s/%d", queue, seq), true, func() (bool, error) {
		s.changed = true
		_, before := s.message(place{queue, seq})
		there, err := s.memory.KeepUntil(ctx, queue, seq, until)
		if _, after := s.message(place{queue, seq}); after && !before {
			s.run.Violation("a hollow message was made at %d", seq)
		}
		return there, err
	})
}

func (s *store) SweepProgress(ctx context.Context, name string) (cursor.Progress, error) {
	answer, err := sim.Read(s.p, sim.Labelf("get progress %s", name), func() (progressAnswer, error) {
		progress, err := s.memory.SweepProgress(ctx, name)
		return progressAnswer{progress}, err
	})
	return answer.Progress, err
}

func (s *store) SaveSweepProgress(ctx context.Context, progress cursor.Progress) error {
	_, err := sim.Do(s.p, sim.Labelf("save progress %s", progress.Name), true, func() (bool, error) {
		return true, s.memory.SaveSweepProgress(ctx, progress)
	})
	return err
}
