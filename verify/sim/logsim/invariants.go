package logsim

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// stale reports whether a message has seen more than the queue has had: tables were set back.
func (m *model) stale(a *stored) bool { return m.restores > 0 && a.seen > m.cursor().Position }

// lastInTail is the id of the last message of the log that was not dropped, where it is among the
// last n entries; what a reader has before the next one.
func (m *model) lastInTail(n int) string {
	for at := len(m.log) - 1; at >= 0 && n > 0; at, n = at-1, n-1 {
		if !m.log[at].Has(queuelog.MarkDropped) {
			return m.log[at].id
		}
	}
	return ""
}

// given notes the places that an allocation or a move gave, and checks O3, O4, A1 and K-b to K-d.
func (m *model) given(before, after cursor.Cursor) {
	high, wasNormal, entries := before.High, false, len(m.log)
	_, more := after.Tail.First(before.Tail.Len())
	for e := range more.All() {
		if e.Has(queuelog.MarkRestart) {
			m.givenRestart(e, before, after)
			high = e.Key
			continue
		}
		a, at := m.stored[e.Key], m.end()
		if a == nil || e.Count != len(m.contents(a)) || e.Seen != queuelog.ShortSeen(a.seen) {
			m.Run.Violation("O4: seq %d was given to a message that is not stored", at+1)
			return
		}
		switch {
		case a.seq != 0:
			m.Run.Violation("O3: %s has seq %d, and was given %d", a.id, a.seq, at+1)
		case a.seen > at:
			m.Run.Violation("O3: %s was given seq %d, and had seen %d: its place will not be found",
				a.id, at+1, a.seen)
		case a.id == "" && a.seen != at:
			m.Run.Violation("A1: a batch from %d on was given the place behind %d", a.seen+1, at)
		case !a.expires.IsZero() && a.expires.Before(m.Now.Add(m.keep/2-m.Behind())):
			m.Run.Violation("O4: %s got its place so late that it expires before it is delivered", a.id)
		}
		if e.Has(queuelog.MarkLate) {
			m.givenLate(a, e, before.High)
		} else if m.keyed() {
			if a.key <= high {
				m.Run.Violation("K-b: %s was placed behind a greater key", a.id)
			}
			high, wasNormal = a.key, true
			if e.Has(queuelog.MarkDropped) {
				m.Run.Violation("K-c: %s was dropped, and is not late", a.id)
			}
		}
		last := m.lastInTail(before.Tail.Len() + len(m.log) - entries)
		if unlinked := a.prev != "" && last != a.prev; unlinked != e.Has(queuelog.MarkUnlinked) {
			m.Run.Violation("%s is marked %v behind another than its prev", a.id, e.Mark)
		}
		a.seq = at + 1
		m.log = append(m.log, entry{e, a})
	}
	if wasNormal && m.closing == 0 && !m.due(high) {
		m.Run.Violation("K-d: %s was placed before it was due", m.stored[high].id)
	}
}

// givenRestart notes the entry by which the keys begin anew, and checks K-g.
func (m *model) givenRestart(e queuelog.Entry, before, after cursor.Cursor) {
	if e.Key <= before.High || !e.Has(queuelog.MarkDropped) || before.Restart == after.Restart {
		m.Run.Violation("K-g: the keys begin anew at seq %d by the same order, or behind a greater key",
			m.end()+1)
	}
	m.log = append(m.log, entry{e, &stored{key: e.Key, id: "restart", seq: m.end() + 1}})
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
func (m *model) givenLate(a *stored, e queuelog.Entry, high sortkey.SortKey) {
	// One that has expired may have had the same.
	if a.key > high {
		m.Run.Violation("K-c: %s is marked late, and no greater key stands before it", a.id)
	}
	dropped := m.settings.Late == cursor.LateDrop && a.key.Era() == high.Era() &&
		a.key.Key() < high.Key()
	if dropped != e.Has(queuelog.MarkDropped) {
		m.Run.Violation("K-c: %s has the marks %v", a.id, e.Mark)
	}
	if m.restores > 0 || m.restarted {
		return // who had seen more than the queue stayed behind; an era is closed before all are due
	}
	for _, z := range m.log {
		if z.key >= a.key && !z.Has(queuelog.MarkLate) &&
			(m.wrong(z.stored) || !a.stored.Add(m.Ahead()).Before(z.arrived.Add(m.settings.Settle))) {
			return
		}
	}
	m.Run.Violation("K-d: %s is late, and was stored before any message with a greater key was due",
		a.id)
}

// due reports whether a message of this key or a greater one is due.
func (m *model) due(from sortkey.SortKey) bool {
	for key, z := range m.stored {
		if key >= from &&
			(m.wrong(z) || !m.Now.Add(m.Ahead()).Before(z.arrived.Add(m.settings.Settle))) {
			return true
		}
	}
	return false
}

// dueAt are the messages up to a sort key that are owed a place, and due by a clock.
func (m *model) dueAt(now time.Time, upTo sortkey.SortKey) []*stored {
	var due []*stored
	for _, a := range m.stored {
		if a.owed && a.seq == 0 && a.key <= upTo && !now.Before(a.arrived.Add(m.settings.Settle)) {
			due = append(due, a)
		}
	}
	return due
}

// wrong reports whether a message's clock was wrong by far, for some settler.
func (m *model) wrong(a *stored) bool {
	return a.arrived.After(a.stored.Add(world.WrongClock - m.Behind()))
}

// Check implements [sim.Model].
func (m *model) Check() error {
	if !m.Changed {
		return nil
	}
	m.Changed = false
	items := m.Tables.Items("streamsort-cursors")
	if len(items) == 0 {
		return nil
	}
	c := m.cursor()
	if last := len(m.seen) - 1; last < 0 || m.seen[last].Cursor != c {
		if last >= 0 && (c.Position < m.seen[last].Position || c.TailFrom < m.seen[last].TailFrom ||
			c.High < m.seen[last].High) {
			return fmt.Errorf("S1: the cursor went back from %d, %d to %d, %d", m.seen[last].TailFrom,
				m.seen[last].Position, c.TailFrom, c.Position)
		}
		m.seen = append(m.seen[max(last, 0):], state{c, items[0]})
	}
	most := queuelog.MaxTail
	if m.keyed() {
		most = mostTail
	}
	switch {
	case c.TailFrom+c.Tail.Seqs() != c.Position || c.Position != m.end():
		return fmt.Errorf("O1: the tail is of the seqs from %d to %d, the position is %d, and %d were given", c.TailFrom, c.TailFrom+c.Tail.Seqs(), c.Position, m.end())
	case c.Tail.Len() > most:
		return fmt.Errorf("O1: the tail has %d entries", c.Tail.Len())
	}
	if err := m.whole(c); err != nil || !m.keyed() {
		return err
	}
	return m.watermarks(c)
}

// watermarks checks what the cursor says of the log, and that Low leaves nobody behind.
func (m *model) watermarks(c cursor.Cursor) error {
	high, late, lastLate, inRow := sortkey.SortKey("\x00"), int64(0), int64(0), int64(0)
	for i, e := range m.log {
		if e.Has(queuelog.MarkLate) {
			late, lastLate, inRow = late+1, int64(i+1), inRow+1
		} else {
			high, inRow = e.key, 0
		}
	}
	if c.High != high || c.LateSoFar != late || c.LateSeq != lastLate || c.LateInRow != inRow ||
		c.Low > c.High {
		return fmt.Errorf("KE: the cursor says that the watermark is %x, low %x, and %d were late, the last at %d, %d in a row: it is %x, and %d, at %d, %d in a row",
			c.High, c.Low, c.LateSoFar, c.LateSeq, c.LateInRow, high, late, lastLate, inRow)
	}
	for _, a := range m.stored {
		if a.owed && a.key <= c.Low && a.seq == 0 && m.restores == 0 {
			return fmt.Errorf("KE: low leaves %s behind, which waits", a.id)
		}
	}
	return nil
}

// whole checks O1 and O2: the log is in the order items and in the tail of the cursor, but for what
// may be gone. The order items that others made do not expire, and may stand before one that has.
func (m *model) whole(c cursor.Cursor) error {
	at, items := c.TailFrom, m.items()
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Last > at {
			continue // in the tail still
		}
		if items[i].Last < at && at > m.gone() {
			break
		}
		at = items[i].After()
		if err := m.same(items[i].Entries, at); err != nil {
			return err
		}
	}
	if at > m.gone() {
		return fmt.Errorf("O1: no place is known of seq %d", at)
	}
	return m.same(c.Tail, c.TailFrom)
}

// gone is a seq up to which places may have been deleted: what is delivered, once time has passed;
// all, where tables have lost something.
func (m *model) gone() int64 {
	switch {
	case m.restores > 0:
		return m.cursor().Position
	case m.keep == 0 || m.Now.Sub(world.Start) < m.keep/2:
		return 0
	case !m.reads:
		return m.cursor().Position
	}
	return m.delivered
}

// same checks a run of places behind a seq.
func (m *model) same(entries queuelog.Tail, at int64) error {
	i := m.indexOf(at + 1)
	for e := range entries.All() {
		if i < 0 || i >= len(m.log) || m.log[i].Entry != e || m.log[i].seq != at+1 {
			return fmt.Errorf("O2: the place behind %d changed", at)
		}
		i, at = i+1, at+int64(e.Count)
	}
	return nil
}
