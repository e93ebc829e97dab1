package keyedsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// checkAnswer checks S5: what a producer was answered for a message, since tables were restored,
// and things expired, so often.
func (m *model) checkAnswer(k keyed, r cursor.Result, tables, expiries int) {
	wrong := func(why string) {
		m.run.Violation("%s was answered %s, seq %d, late %v: %s", k.ID, r.Outcome, r.Seq, r.Late, why)
	}
	there := m.answeredFor(m.sortKey(k), r)
	if r.Outcome == cursor.Conflict {
		if !m.restarted && there != nil && there.body == string(k.Body) && there.prev == k.Prev {
			wrong("it is what is stored")
		}
		return
	}
	if r.Outcome == cursor.Stale {
		if m.restores == 0 {
			wrong("nothing was set back")
		}
		return
	}
	if m.restores > tables {
		return
	}
	if there != nil && (there.body != string(k.Body) || there.prev != k.Prev) {
		wrong("another is stored")
	}
	if r.Outcome == cursor.Duplicate && m.attempts[k.name()] == 1 {
		wrong("it was given once")
	}
	if r.Outcome != cursor.Duplicate && there != nil {
		if there.told {
			wrong("another was told so before")
		}
		there.told = true
	}
	switch {
	case r.Seq == cursor.NoSeq && (r.Outcome == cursor.Waiting || r.Outcome == cursor.Duplicate):
		switch {
		case there == nil && r.Outcome == cursor.Duplicate && m.expiries > expiries:
			// It waited for as long as it is kept, and expired meanwhile.
		case there == nil:
			wrong("it is not stored")
		case m.stale(there):
			wrong("it is not settled before the queue has come so far again")
		case !r.SettlesAt.Equal(there.arrived.Add(m.settings.Settle)):
			wrong("it is due at another time")
		default:
			there.answered = true
		}
	case r.Outcome == cursor.Duplicate || r.Outcome == cursor.Advanced || r.Outcome == cursor.Dropped:
		if r.Seq < 1 || r.Seq > int64(len(m.log)) {
			wrong("nobody has that place")
			return
		}
		e := m.log[r.Seq-1]
		switch {
		case bare(e.key) != m.sortKey(k) || e.body != string(k.Body):
			wrong("that is the place of " + e.id)
		case r.Late != (e.Mark&queuelog.MarkLate != 0):
			wrong("it is told late where it is not, or not where it is")
		case r.Outcome != cursor.Duplicate && (r.Outcome == cursor.Dropped) != (e.Mark&queuelog.MarkDropped != 0):
			wrong("the log says otherwise")
		}
	default:
		wrong("that cannot be")
	}
}

// answeredFor is what is stored of a message that has this sort key in the first era: in the era that
// the answer is about.
func (m *model) answeredFor(key sortkey.SortKey, r cursor.Result) *message {
	if at := r.Seq - 1; m.restarted && at >= 0 && at < int64(len(m.log)) && bare(m.log[at].key) == key {
		return m.log[at].message
	}
	for _, a := range slices.Backward(m.waiting()) { // the latest era first
		if m.restarted && r.Seq == cursor.NoSeq && bare(a.key) == key && r.SettlesAt.Equal(a.arrived.Add(m.settings.Settle)) {
			return a
		}
	}
	return m.stored[m.inEra(key)]
}

// read checks one message that a reader got behind a seq.
func (m *model) read(after int64, got cursor.Message) error {
	if got.Seq != after+1 || got.Seq > int64(len(m.log)) {
		return fmt.Errorf("KE: seq %d was read behind %d", got.Seq, after)
	}
	e := m.log[after]
	if dropped := e.Mark&queuelog.MarkDropped != 0; dropped || got.Tombstone != "" {
		if !dropped || got.Tombstone == "" {
			return fmt.Errorf("KE: seq %d was read with the tombstone %q", got.Seq, got.Tombstone)
		}
		restart := e.Mark&queuelog.MarkRestart != 0
		if got.Key != e.key.Key() || got.Late == restart || strings.Contains(got.Tombstone, "anew") != restart {
			return fmt.Errorf("KE: seq %d, which was dropped, was read under the key %s", got.Seq, got.Key)
		}
		return nil
	}
	if string(got.Body) != e.body || got.ID != e.id || got.Key != e.key.Key() {
		return fmt.Errorf("S4: seq %d was read as %q, and is %q", got.Seq, got.Body, e.body)
	}
	if got.Late != (e.Mark&queuelog.MarkLate != 0) || got.Unlinked != (e.Mark&queuelog.MarkUnlinked != 0) {
		return fmt.Errorf("KE: seq %d was read with other marks", got.Seq)
	}
	return nil
}
