package cursorsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// change is a record of the cursors' stream: a write that changed a cursor. older is the zero
// Cursor where the write made it.
type change struct{ older, newer cursor.Cursor }

// consumerPage is how many messages a consumer is shown at once, where a table stops at 1 MB:
// readers have to go on from there.
const consumerPage = 2

// consumer is a function of a user's own behind the cursors' stream, which keeps no state: it takes
// all records that wait, as one event, until they succeed. The stream may drop a record or hand the
// event out again; what is done with a batch may fail, before or after its effect; the function may
// die.
//
// A record that names messages which the retention has deleted never succeeds: the event source
// mapping gives it up.
func (m *model) consumer() {
	m.consumed = true
	ready := func() bool { return len(m.changes) > 0 }
	m.Serves("consumer", sim.Labelf("next event"), ready, func(p *sim.Proc) func(int) {
		return func(way int) {
			if way == 1 {
				m.changes, m.lost = m.changes[1:], true
				return
			}
			s, view := m.sorter(p) // it keeps nothing from one event to the next
			view.page = consumerPage
			// Records are only added behind these while the event is worked on.
			p.Knows().Int(int64(len(m.changes)))
			m.Running++
			done := m.deliver(s, m.changes, func(b cursor.Batch) error {
				_, err := sim.Do(p, sim.Labelf("deliver %s %d..%d", b.Queue, b.From, b.To), true,
					func() (bool, error) {
						m.delivered(b)
						return true, nil
					})
				return err
			}, p.Dead)
			m.Running--
			if way == 0 && !p.Dead() {
				m.changes = m.changes[done:]
			}
		}
	}, "", "drops a record", "hands it out twice")
}

// deliver reads what each of the records moved, checks each batch before take gets it, and returns
// how many of the records the stream is done with: it stops at the first one that fails.
func (m *model) deliver(s *cursor.Sorter, records []change, take func(cursor.Batch) error,
	dead func() bool) int {
	tiles := tiling{model: m, records: records}
	for i, record := range records {
		err := m.deliverRecord(s, simdb.Record(i, record.older, record.newer),
			func(b cursor.Batch) error {
				tiles.check(b)
				return take(b)
			})
		switch missing := (*cursor.MissingError)(nil); {
		case dead():
			return 0
		case err == nil:
			continue
		case errors.As(err, &missing):
			tiles.end(i)
			if _, there := m.message(place{missing.Queue, missing.Seq}); there {
				m.Run.Violation("seq %d is said to be missing, and is there", missing.Seq)
			}
			m.lost = true
			return i + 1
		}
		tiles.end(i)
		return i
	}
	tiles.end(len(records))
	return len(records)
}

// deliverRecord gives take what a record moved, in pieces. A queue that was erased since has
// nothing to deliver.
func (m *model) deliverRecord(s *cursor.Sorter, raw json.RawMessage,
	take func(cursor.Batch) error) error {
	ctx, inside := context.Background(), s.Inside(queuelog.Inside{})
	cur, moved, err := cursor.AdvanceOf(raw, cursor.Names{})
	if err != nil {
		m.Run.Violation("a record that is right was refused: %v", err)
	}
	for err == nil && moved.From < moved.To {
		var batch cursor.Batch
		batch, err = inside.ReadBatchAt(ctx, cur, cur.Queue, moved.From, moved.To)
		if err == nil {
			err, moved.From = take(batch), batch.To
		} else if c, _ := inside.ErasureOf(ctx, cur.Queue); c.Erased() {
			return nil
		}
	}
	return err
}

// tiling checks that the batches of an event are its moves, in their order, each in pieces that lie
// end to end.
type tiling struct {
	*model
	records []change
	// at is the record whose pieces come, within what was delivered of it.
	at     int
	within int64
}

// check checks a batch that is about to be delivered.
func (t *tiling) check(b cursor.Batch) {
	for t.within == 0 && t.at < len(t.records) && !t.records[t.at].moves() {
		t.at++
	}
	if t.at == len(t.records) {
		t.Run.Violation("%s %d..%d was delivered, and no record is left that moved",
			b.Queue, b.From, b.To)
		return
	}
	record := t.records[t.at]
	from, to := record.older.Position+t.within, record.newer.Position
	if b.Queue != record.newer.Queue || b.From != from || b.To <= from || b.To > to {
		t.Run.Violation("S3: %s %d..%d was delivered, want what follows %d up to %d of %s",
			b.Queue, b.From, b.To, from, to, record.newer.Queue)
		return
	}
	t.within += b.To - b.From
	if b.To == to {
		t.at, t.within = t.at+1, 0
	}
	t.checkContent(b)
}

// end checks that the moves of the first records were delivered whole.
func (t *tiling) end(records int) {
	for ; t.at < records; t.at++ {
		if record := t.records[t.at]; record.moves() {
			t.Run.Violation("of the move of %s from %d to %d only %d were delivered",
				record.newer.Queue, record.older.Position, record.newer.Position, t.within)
			return
		}
	}
}

// checkContent checks that a batch is what is stored at its seqs, in order and whole, and not
// beyond the position.
func (m *model) checkContent(b cursor.Batch) {
	if position := m.cursor(b.Queue).Position; b.To > position {
		m.Run.Violation("%s %d..%d was delivered, and the position is %d",
			b.Queue, b.From, b.To, position)
	}
	if err := world.Whole(b, func(seq int64, got *cursor.Message) bool {
		stored, ever := m.stored[place{b.Queue, seq}]
		if got == nil {
			return ever && stored.Tombstone != ""
		}
		return ever && stored.Tombstone == "" && same(*got, stored)
	}); err != nil {
		m.Run.Violation("S4: %s %w", b.Queue, err)
	}
}

// delivered records a batch. It may come more than once.
func (m *model) delivered(b cursor.Batch) {
	for seq := b.From + 1; seq <= b.To; seq++ {
		m.handed[place{b.Queue, seq}] = true
	}
}

// allDelivered checks that everything up to the positions was delivered, if the stream lost no
// record.
func (m *model) allDelivered() error {
	if !m.consumed || m.lost {
		return nil
	}
	for _, queue := range m.QueueNames() {
		c := m.cursor(queue)
		for seq := c.Settings.First; seq <= c.Position; seq++ {
			if !m.handed[place{queue, seq}] {
				return fmt.Errorf("seq %d of %s was accepted and never delivered, and the position is %d", seq,
					queue, c.Position)
			}
		}
	}
	return nil
}

// consumeRest delivers what is left in the stream when all faults are over and the last sweep was
// run, on the tables themselves.
func (m *model) consumeRest(s *cursor.Sorter) error {
	if !m.consumed {
		return nil
	}
	for _, queue := range m.QueueNames() {
		for _, message := range m.messagesFrom(queue, 0) {
			at := place{queue, message.Seq}
			if _, known := m.stored[at]; !known && message.Tombstone != "" {
				m.stored[at] = message // the last sweep's own
			}
		}
	}
	m.deliver(s, m.changes, func(b cursor.Batch) error {
		m.delivered(b)
		return nil
	}, func() bool { return false })
	if err := m.Run.Err(); err != nil {
		return err
	}
	return m.allDelivered()
}

// hashConsumer feeds what the consumer has before it and behind it.
func (m *model) hashConsumer(d *sim.Digest) {
	d.Int(int64(len(m.changes)))
	for _, record := range m.changes {
		sim.Feed(d, record.newer.Queue, record.older.Exists(), record.older.Position,
			record.newer.Position)
	}
	d.Bool(m.lost)
	if m.lost {
		return // nobody asks any more
	}
	d.Text(fmt.Sprint(m.handed)) // in the order of its keys
}

func (c change) moves() bool { return c.older.Exists() && c.newer.Position > c.older.Position }
