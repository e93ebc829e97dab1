package logsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// answered checks S5 and A2: what a producer was answered for a request.
func (m *model) answered(r request, results []cursor.Result, began asked) {
	switch {
	case m.keyed():
		m.checkKeyed(r, results[0], began)
	case r.messages[0].Seq > 0:
		m.checkAt(r, results[0], began.position)
	default:
		m.checkArrival(r, results)
	}
}

// checkArrival checks S5 in arrival order.
func (m *model) checkArrival(r request, results []cursor.Result) {
	outcome, first, last := results[0].Outcome, results[0].Seq, results[len(results)-1].Seq
	wrong := func(why string) {
		m.Run.Violation("%s was answered %s from %d to %d: %s", r.name(), outcome, first, last, why)
	}
	switch outcome {
	case cursor.Advanced, cursor.Duplicate:
		if outcome == cursor.Duplicate && m.attempts[r.name()] == 1 {
			wrong("it was given once")
		}
		switch e, there := m.placeOf(first); {
		case !there || e.seq != first || e.last() != last:
			wrong("nobody has that place")
		case e.id != r.name() || !slices.Equal(m.contents(e.stored), r.bodies()):
			wrong("that is the place of " + e.id)
		}
	case cursor.Conflict:
		if there := m.stored[sortkey.HashOf(r.name())]; there != nil &&
			slices.Equal(m.contents(there), r.bodies()) {
			wrong("it is what is stored")
		}
	default:
		wrong("that cannot be")
	}
}

// checkAt checks A2: what a producer was answered for a message at a seq.
func (m *model) checkAt(message request, r cursor.Result, before int64) {
	wrong := func(why string) {
		m.Run.Violation("A2: seq %d was answered %s: %s", r.Seq, r.Outcome, why)
	}
	body, there := m.bodyAt(r.Seq)
	position := m.cursor().Position
	if r.New > position {
		wrong(fmt.Sprintf("the position is said to be %d, and is %d", r.New, position))
	}
	switch same := body == message.name(); r.Outcome {
	case cursor.Advanced, cursor.Duplicate:
		if !there || !same {
			wrong("it is not what is stored: " + body)
		}
		if r.Outcome == cursor.Duplicate && m.attempts[message.name()] == 1 {
			wrong("it was given once")
		}
	case cursor.Conflict:
		if !there || same {
			wrong("it is what is stored")
		}
	case cursor.Ahead:
		if r.Seq <= r.New+1 || r.New < before {
			wrong(fmt.Sprintf("the position is said to be %d, and was %d when it was asked", r.New, before))
		}
	case cursor.Stale:
		if r.Seq > m.gone() {
			wrong("it is kept")
		}
	default:
		wrong("that cannot be")
	}
}

// bodyAt is what was given a seq.
func (m *model) bodyAt(seq int64) (body string, there bool) {
	e, there := m.placeOf(seq)
	if !there {
		return "", false
	}
	return m.contents(e.stored)[seq-e.seq], true
}

// checkKeyed checks S5 in a keyed queue: what a producer was answered for a message.
func (m *model) checkKeyed(k request, r cursor.Result, began asked) {
	sent, name := k.messages[0], k.name()
	wrong := func(why string) {
		m.Run.Violation("%s was answered %s, seq %d, late %v: %s", sent.ID, r.Outcome, r.Seq, r.Late, why)
	}
	there := m.answeredFor(m.sortKey(k), r)
	same := there != nil && there.bodies[0] == string(sent.Body) && there.prev == sent.Prev
	if r.Outcome == cursor.Conflict {
		if !m.restarted && same {
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
	if m.restores > began.restores {
		return
	}
	if there != nil && !same {
		wrong("another is stored")
	}
	if r.Outcome == cursor.Duplicate && m.attempts[name] == 1 {
		wrong("it was given once")
	}
	if r.Outcome != cursor.Duplicate && there != nil {
		if there.first {
			wrong("another was answered so before")
		}
		there.first = true
	}
	switch {
	case r.Seq == cursor.NoSeq && (r.Outcome == cursor.Waiting || r.Outcome == cursor.Duplicate):
		switch {
		case there == nil && r.Outcome == cursor.Duplicate && m.expiries > began.expiries:
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
		switch e, placed := m.placeOf(r.Seq); {
		case !placed:
			wrong("nobody has that place")
		case bare(e.key) != m.sortKey(k) || e.bodies[0] != string(sent.Body):
			wrong("that is the place of " + e.id)
		case r.Late != e.Has(queuelog.MarkLate):
			wrong("it is late, or not, and answered otherwise")
		case r.Outcome != cursor.Duplicate &&
			(r.Outcome == cursor.Dropped) != e.Has(queuelog.MarkDropped):
			wrong("the log says otherwise")
		}
	default:
		wrong("that cannot be")
	}
}

// answeredFor is what is stored of a message that has this sort key in the first era: in the era
// that the answer is about.
func (m *model) answeredFor(key sortkey.SortKey, r cursor.Result) *stored {
	if e, placed := m.placeOf(r.Seq); m.restarted && placed && bare(e.key) == key {
		return e.stored
	}
	for _, a := range slices.Backward(m.waiting()) { // the latest era first
		if m.restarted && r.Seq == cursor.NoSeq && bare(a.key) == key &&
			r.SettlesAt.Equal(a.arrived.Add(m.settings.Settle)) {
			return a
		}
	}
	return m.stored[m.inEra(key)]
}

// read checks one message that a reader got behind a seq.
func (m *model) read(after int64, got cursor.Message) error {
	e, there := m.placeOf(got.Seq)
	if got.Seq != after+1 || !there {
		return fmt.Errorf("O1: seq %d was read behind %d", got.Seq, after)
	}
	if dropped := e.Has(queuelog.MarkDropped); dropped || got.Tombstone != "" {
		if !dropped || got.Tombstone == "" {
			return fmt.Errorf("O2: seq %d was read with the tombstone %q", got.Seq, got.Tombstone)
		}
		restart := e.Has(queuelog.MarkRestart)
		if got.Key != e.key.Key() || got.Late == restart ||
			strings.Contains(got.Tombstone, "anew") != restart {
			return fmt.Errorf("O2: seq %d, which was dropped, was read under the key %s", got.Seq, got.Key)
		}
		return nil
	}
	if body, _ := m.bodyAt(got.Seq); string(got.Body) != body ||
		m.keyed() && (got.ID != e.id || got.Key != e.key.Key()) {
		return fmt.Errorf("S4: seq %d was read as %q, and is %q", got.Seq, got.Body, body)
	}
	if got.Late != e.Has(queuelog.MarkLate) || got.Unlinked != e.Has(queuelog.MarkUnlinked) {
		return fmt.Errorf("O2: seq %d was read with other marks", got.Seq)
	}
	return nil
}
