package keyedsim

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/logsim"
)

// stale reports whether a message has seen more than the queue has had: tables were set back.
func (m *model) stale(a *message) bool { return m.restores > 0 && a.seen > m.cursor().Position }

// lastInTail is the id of the last message of the log that was not dropped, where it is among
// the last n entries; what a reader has before the next one.
func (m *model) lastInTail(n int) string {
	for at := len(m.log) - 1; at >= 0 && n > 0; at, n = at-1, n-1 {
		if m.log[at].Mark&queuelog.MarkDropped == 0 {
			return m.log[at].id
		}
	}
	return ""
}

// given notes the places that a move gave, and checks K-a to K-d.
func (m *model) given(before, after cursor.Cursor) {
	high, wasNormal := before.High, false
	for i := before.Tail.Len(); i < after.Tail.Len(); i++ {
		e := after.Tail.At(i)
		if e.Mark&queuelog.MarkRestart != 0 {
			m.givenRestart(e, before, after)
			high = e.Key
			continue
		}
		a := m.stored[e.Key]
		if a == nil || e.Count != 1 || e.Seen != uint32(a.seen) {
			m.run.Violation("K-a: seq %d was given to a message that is not stored", len(m.log)+1)
			return
		}
		switch {
		case a.seq != 0:
			m.run.Violation("K-a: %s has seq %d, and was given %d", a.id, a.seq, len(m.log)+1)
		case a.seen > int64(len(m.log)):
			m.run.Violation("K-a: %s was given seq %d, and had seen %d: its place will not be found", a.id, len(m.log)+1, a.seen)
		case !a.expires.IsZero() && a.expires.Before(m.now.Add(m.keep/2-m.behindBy())):
			m.run.Violation("K-a: %s got its place so late that it expires before it is delivered", a.id)
		}
		if late := e.Mark&queuelog.MarkLate != 0; late {
			m.givenLate(a, e, before.High)
		} else {
			if a.key <= high {
				m.run.Violation("K-b: %s was placed behind a greater key", a.id)
			}
			high, wasNormal = a.key, true
			if e.Mark&queuelog.MarkDropped != 0 {
				m.run.Violation("K-c: %s was dropped, and is not late", a.id)
			}
		}
		if unlinked := a.prev != "" && m.lastInTail(i) != a.prev; unlinked != (e.Mark&queuelog.MarkUnlinked != 0) {
			m.run.Violation("%s is marked %v behind another than its prev", a.id, e.Mark)
		}
		m.log = append(m.log, entry{e, a})
		a.seq = int64(len(m.log))
	}
	if wasNormal && m.closing == 0 && !m.due(high) {
		m.run.Violation("K-d: %s was placed before it was due", m.stored[high].id)
	}
}

// givenRestart notes the entry by which the keys begin anew, and checks K-g.
func (m *model) givenRestart(e queuelog.Entry, before, after cursor.Cursor) {
	if e.Key <= before.High || e.Mark&queuelog.MarkDropped == 0 || before.Restart == after.Restart {
		m.run.Violation("K-g: the keys begin anew at seq %d by the same order, or behind a greater key", len(m.log)+1)
	}
	m.log = append(m.log, entry{e, &message{key: e.Key, id: "restart", seq: int64(len(m.log)) + 1}})
}

// bare is a sort key without its era, inEra one with the era that the queue is in.
func bare(key sortkey.SortKey) sortkey.SortKey {
	if era := key.Era(); era != "" {
		return key[:1] + key[1+len(era):]
	}
	return key
}

func (m *model) inEra(key sortkey.SortKey) sortkey.SortKey {
	return key[:1] + sortkey.SortKey(m.cursor().High.Era()) + key[1:]
}

// givenLate checks K-c and K-d of a late message.
func (m *model) givenLate(a *message, e queuelog.Entry, high sortkey.SortKey) {
	// One that has expired may have had the same.
	if a.key > high {
		m.run.Violation("K-c: %s is marked late, and no greater key stands before it", a.id)
	}
	if dropped := m.settings.Late == cursor.LateDrop && a.key.Era() == high.Era() && a.key.Key() < high.Key(); dropped != (e.Mark&queuelog.MarkDropped != 0) {
		m.run.Violation("K-c: %s has the marks %v", a.id, e.Mark)
	}
	if m.restores > 0 || m.restarted {
		return // who had seen more than the queue stayed behind; an era is closed before all are due
	}
	for _, z := range m.log {
		if z.key >= a.key && z.Mark&queuelog.MarkLate == 0 && (m.wrong(z.message) || !a.stored.Add(m.aheadBy()).Before(z.arrived.Add(m.settings.Settle))) {
			return
		}
	}
	m.run.Violation("K-d: %s is late, and was stored before any message with a greater key was due", a.id)
}

// due reports whether a message of this key or a greater one is due.
func (m *model) due(from sortkey.SortKey) bool {
	for key, z := range m.stored {
		if key >= from && (m.wrong(z) || !m.now.Add(m.aheadBy()).Before(z.arrived.Add(m.settings.Settle))) {
			return true
		}
	}
	return false
}

// dueAt are the messages up to a sort key that are owed a place, and due by a clock.
func (m *model) dueAt(now time.Time, upTo sortkey.SortKey) []*message {
	var due []*message
	for _, a := range m.stored {
		if a.owed && a.seq == 0 && a.key <= upTo && !now.Before(a.arrived.Add(m.settings.Settle)) {
			due = append(due, a)
		}
	}
	return due
}

// wrong reports whether a message's clock was wrong by far, for some settler.
func (m *model) wrong(a *message) bool {
	return a.arrived.After(a.stored.Add(wrongClock - m.behindBy()))
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
		if last >= 0 && (c.Position < m.seen[last].Position || c.TailFrom < m.seen[last].TailFrom || c.High < m.seen[last].High) {
			return fmt.Errorf("KE: the cursor went back from %d, %d to %d, %d", m.seen[last].TailFrom, m.seen[last].Position, c.TailFrom, c.Position)
		}
		m.seen = append(m.seen[max(last, 0):], state{c, items[0]})
	}
	switch {
	case c.TailFrom+c.Tail.Seqs() != c.Position || c.Position != int64(len(m.log)):
		return fmt.Errorf("KE: the tail is of the seqs from %d to %d, the position is %d, and %d were given", c.TailFrom, c.TailFrom+c.Tail.Seqs(), c.Position, len(m.log))
	case c.Tail.Len() > mostTail:
		return fmt.Errorf("KE: the tail has %d entries", c.Tail.Len())
	case c.Low > c.High:
		return fmt.Errorf("KE: low is greater than high")
	}
	if err := m.whole(c); err != nil {
		return err
	}
	return m.watermarks(c)
}

// watermarks checks what the cursor says of the log, and that Low leaves nobody behind.
func (m *model) watermarks(c cursor.Cursor) error {
	high, late, lastLate, inRow := sortkey.SortKey("\x00"), int64(0), int64(0), int64(0)
	for i, e := range m.log {
		if e.Mark&queuelog.MarkLate != 0 {
			late, lastLate, inRow = late+1, int64(i+1), inRow+1
		} else {
			high, inRow = e.key, 0
		}
	}
	if c.High != high || c.LateSoFar != late || c.LateSeq != lastLate || c.LateInRow != inRow {
		return fmt.Errorf("KE: the cursor says that the watermark is %x, and %d were late, the last at %d, %d in a row: it is %x, and %d, at %d, %d in a row",
			c.High, c.LateSoFar, c.LateSeq, c.LateInRow, high, late, lastLate, inRow)
	}
	for _, a := range m.stored {
		if a.owed && a.key <= c.Low && a.seq == 0 && m.restores == 0 {
			return fmt.Errorf("KE: low leaves %s behind, which waits", a.id)
		}
	}
	return nil
}

// whole checks K-e: the log is in the order items and in the tail, but for what may be gone.
func (m *model) whole(c cursor.Cursor) error {
	return logsim.Whole("KE", c, m.items(), m.gone, m.same)
}

// gone is a seq up to which places may have been deleted: what is delivered, once time has
// passed; all, where tables have lost something.
func (m *model) gone() int64 {
	switch {
	case m.restores > 0:
		return m.cursor().Position
	case m.keep == 0 || m.now.Sub(start) < m.keep/2:
		return 0
	case !m.reads:
		return m.cursor().Position
	}
	return m.delivered
}

// same checks a run of places behind a seq.
func (m *model) same(entries queuelog.Tail, at int64) error {
	for e := range entries.All() {
		if at >= int64(len(m.log)) || m.log[at].Entry != e {
			return fmt.Errorf("KE: the place behind %d changed", at)
		}
		at++
	}
	return nil
}
