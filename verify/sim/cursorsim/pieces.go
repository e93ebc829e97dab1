package cursorsim

import (
	"context"
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// A filled gap is moved over in pieces. In these scenarios a page shows two messages, where a table
// stops at 1 MB, and an invocation is killed after a few requests, where Lambda's time is up.
const (
	piecePage = 2
	// pieceBudget is the least with which Heal makes progress: the cursor, the message behind the
	// position, a page, and the move.
	pieceBudget = 4
)

// inPieces makes a Scenario of invocations with a budget, on a queue that exists.
func inPieces(name string, faults, budget int, settings func(*cursor.Settings),
	actors ...func(*model)) sim.Scenario {
	begins := func(m *model) { m.Page = piecePage }
	s := scenario(name, faults, settings, slices.Insert(actors, 0, begins)...)
	s.Budget = budget
	return s
}

// before stores messages of the default queue before the run, as writers did whose records the
// handler has had, or the stream has dropped. Where they are on record, a gap is known up to the
// last of them.
func (m *model) before(onRecord bool, seqs ...int64) {
	ctx, later := context.Background(), cursor.ModeAsync
	_, _, _ = m.store.Requests(queuelog.Inside{}).Configure(ctx, defaultQueue,
		cursor.Change{Mode: &later})
	s, _ := m.sorter(nil)
	_ = s.Put(ctx, put{seqs: seqs}.messages()...)
	_, _, _ = m.store.Requests(queuelog.Inside{}).Configure(ctx, defaultQueue,
		cursor.Change{Mode: &m.settings.Mode})
	if onRecord {
		_, _ = m.store.Requests(queuelog.Inside{}).OpenGap(ctx, defaultQueue, seqs[len(seqs)-1], m.Now)
	}
	for _, message := range m.messages(defaultQueue) {
		m.attempts[defaultQueue+string(message.Body)]++
	}
	m.records = nil
	_ = m.Check() // notes them; nothing has run yet that could be wrong
}

// daily is the round over all queues, as far as it is about one: it looks behind the position,
// whatever is on record.
func (m *model) daily() {
	m.Run.Go("daily sweep", func(p *sim.Proc) {
		s, _ := m.sorter(p)
		p.Invoke()
		_, _ = s.Inside(queuelog.Inside{}).Recheck(context.Background(), defaultQueue)
	})
}

// frequent is the round over the gaps on record, as often as there is one that is filled.
func (m *model) frequent() {
	ready := func() bool {
		return m.cursor(defaultQueue).GapOpen() &&
			m.runEnd(defaultQueue) > m.cursor(defaultQueue).Position
	}
	m.Serves("sweep of the gaps", sim.Labelf("next run"), ready, func(p *sim.Proc) func(int) {
		s, _ := m.sorter(p)
		return func(int) {
			p.Invoke()
			_, _ = s.Inside(queuelog.Inside{}).Recheck(context.Background(), defaultQueue)
		}
	}, "")
}

// onRecord checks that a run which was moved over in part is on record: only the daily sweep would
// find it otherwise.
func (m *model) onRecord() error {
	c := m.cursor(defaultQueue)
	if end := m.runEnd(defaultQueue); m.piece >= 0 && c.Position > m.piece && end > c.Position {
		return fmt.Errorf("L1: the position is %d, the run ends at %d, and parked is %d: who began to move over it is gone, and left nothing of it on record", c.Position, end, c.MaxParked)
	}
	return nil
}

func pieces() []sim.Scenario {
	return []sim.Scenario{
		inPieces("pieces: a gap is filled", 1, pieceBudget, nil,
			before(true, 2, 3, 4, 5, 6, 7), writers(puts(1)), (*model).handler),
		inPieces("pieces: a gap is filled, asynchronous", 2, pieceBudget, async,
			before(true, 2, 3, 4, 5, 6), writers(puts(1)), (*model).handler),
		inPieces("pieces: the record is dropped", 1, pieceBudget+1, nil,
			before(true, 2, 3, 4, 5, 6, 7), writers(puts(1)), (*model).frequent),
		inPieces("pieces: a run on no record", 1, pieceBudget+1, nil, func(m *model) {
			m.before(false, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			m.piece = 0
			m.daily()
			m.frequent()
		}),
		inPieces("pieces: a run on no record, and a writer", 0, pieceBudget+1, nil, func(m *model) {
			m.before(false, 1, 2, 3, 4, 5, 6, 7)
			m.piece = 0
			m.writer("A", puts(4, 9)...)
			m.daily()
			m.frequent()
		}),
		inPieces("pieces: a gap behind them is young", 0, pieceBudget+2, skipSettings,
			before(true, 2, 3, 4, 6), writers(puts(1)), (*model).handler, skipper(2)),
	}
}
