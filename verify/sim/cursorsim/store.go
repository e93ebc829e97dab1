package cursorsim

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// state is a cursor as it stood, and its item.
type state struct {
	cursor.Cursor
	item ddb.Item
}

type remembered struct {
	item ddb.Item
	read time.Time
}

func positionOf(it ddb.Item) int64 {
	position, _ := it.Get("position").Int64()
	return position
}

// view is the tables as one process sees them, and what it remembers of them.
type view struct {
	*model
	p      *sim.Proc
	tables ddb.Engine
	// memo is the same as the memory of the process's Sorter: all of what it keeps from one
	// operation to the next.
	memo map[string]remembered
	// putting is true in a call of a producer, at is the place in its program, puts are the answers
	// to the call's puts, moves the moves that it tried.
	putting     bool
	at          int
	puts, moves sim.Digest
	// page, if not 0, is the most messages that a query shows, where a table stops at 1 MB.
	page int
}

// forget makes the process's state what its Sorter remembers and at, the place in its own program.
func (v *view) forget(at int) *sim.Digest {
	d := v.p.Forget()
	d.Int(int64(at))
	for _, queue := range slices.Sorted(maps.Keys(v.memo)) {
		v.Hash(d, v.memo[queue].item)
		sim.Feed(d, queue, v.memo[queue].read)
	}
	return d
}

// begin is the start of a producer's call.
func (v *view) begin(at int) {
	v.putting, v.at, v.puts, v.moves = true, at, sim.Digest{}, sim.Digest{}
	v.forget(at)
}

// settle is called after a strong look at a cursor, or a write of one. A producer's call goes on
// from there with nothing but what its puts were answered, the moves it made and this cursor: each
// later one replaces the earlier in all that Sorter.advance does. A call is of one queue: see put.
func (v *view) settle(kind int64, r ddb.Request, a ddb.Answer) {
	if !v.putting {
		return
	}
	d := v.forget(v.at)
	sim.Feed(d, kind, v.puts, v.moves)
	v.HashAnswer(d, r, a)
}

// remember does what the Sorter does with a cursor that a request was answered which began at this
// time.
func (v *view) remember(it ddb.Item, began time.Time) {
	queue := it.Get("queue").Str()
	if it.Has("erased") {
		delete(v.memo, queue)
		return
	}
	if was, ok := v.memo[queue]; ok && positionOf(was.item) > positionOf(it) {
		return
	}
	v.memo[queue] = remembered{it, began}
}

// The kinds of request after which a call settles.
const (
	kindLook = iota + 1
	kindCreate
	kindMove
	kindPark
)

// kinds are those of the requests by which a process comes to know a cursor.
var kinds = map[string]int64{
	"get cursor": kindLook, "create cursor": kindCreate, "move": kindMove,
	"move and park": kindMove, "open gap": kindPark,
}

// Do implements [ddb.Engine].
func (v *view) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	kind, began := kinds[r.Name()], v.Now
	if query, ok := r.(ddb.Query); ok && v.page > 0 && (query.Limit == 0 || query.Limit > v.page) {
		query.Limit = v.page
		r = query
	}
	if kind == kindMove {
		// One that fails may count as the call's own all the same.
		from, to := moveOf(r.(ddb.Update))
		sim.Feed(&v.moves, from, to)
	}
	if mark, ok := r.(ddb.Update); ok && r.Name() == "mark erased" {
		delete(v.memo, mark.Key.Get("queue").Str())
	}
	if ddb.Writes(r) && (kind > 0 || r.Name() == "put message") {
		v.writing++
		defer func() { v.writing-- }()
	}
	a, err := v.tables.Do(ctx, r)
	if v.page > 0 && r.Name() == "query messages" {
		// Whether a piece was full is kept beyond the next look.
		v.moves.Bool(a.Next.Exists())
	}
	switch {
	case kind > 0 && err == nil:
		if it := simdb.Standing(r, a); it.Exists() {
			v.remember(it, began)
		}
		if kind != kindLook || past.IsStrong(r) {
			v.settle(kind, r, a)
		}
	case v.putting && (r.Name() == "put message" || r.Name() == "get message"):
		// A message that is read was passed; or is of a scan, which does no harm here.
		v.puts.Bool(err == nil)
		v.HashAnswer(&v.puts, r, a)
	}
	return a, err
}

// moveOf are the positions that a move is from and to. One without a condition on the position is
// from -1, which none is.
func moveOf(move ddb.Update) (from, to int64) {
	from = -1
	for _, condition := range move.If.Conds {
		if condition.Path == "position" {
			from, _ = condition.Values[0].Int64()
		}
	}
	for _, action := range move.Do {
		if action.Path == "position" {
			to, _ = action.Value.Int64()
		}
	}
	return from, to
}

func (m *model) perform(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
	m.Changed = m.Changed || ddb.Writes(r)
	switch r := r.(type) {
	case ddb.Update:
		queue := r.Key.Get("queue").Str()
		switch r.Name() {
		case "move", "move and park":
			before := m.cursor(queue)
			a, err := do()
			if a.Held {
				from, to := moveOf(r)
				m.checkMove(before, cursor.Range{From: from, To: to})
				m.checkMark(before, m.cursor(queue))
			}
			return a, err
		case "open gap":
			before := m.cursor(queue)
			a, err := do()
			m.checkPark(before, m.cursor(queue))
			return a, err
		case "keep message":
			at := placeOf(r.Key)
			_, before := m.message(at)
			a, err := do()
			if _, after := m.message(at); after && !before {
				m.Run.Violation("a hollow message was made at %d", at.seq)
			}
			return a, err
		}
	case ddb.Put:
		if r.Name() == "put message" {
			at := placeOf(r.Item)
			_, occupied := m.message(at)
			a, err := do()
			if now, is := m.message(at); is && (!occupied || !same(now, m.stored[at])) {
				m.checkPut(at, now)
			}
			return a, err
		}
	}
	return do()
}

func placeOf(it ddb.Item) place {
	seq, _ := it.Get("seq").Int64()
	return place{it.Get("queue").Str(), seq}
}

// older are what a weak read may be answered: of a cursor or a message, that it is absent, of a
// cursor also what stood there before; of messages, without any one of the first, or all; of all
// cursors, as each was before, or none.
func (m *model) older(r ddb.Request, _ func() (ddb.Answer, error)) []func() (ddb.Answer, error) {
	switch r := r.(type) {
	case ddb.Get:
		seen := m.cursors[r.Key.Get("queue").Str()]
		switch {
		case r.Name() != "get cursor" || len(seen) == 1:
			return world.Answers(ddb.Answer{})
		case len(seen) == 0:
			return nil
		}
		return world.Answers(ddb.Answer{}, ddb.Answer{Item: seen[0].item})
	case ddb.Query:
		older := world.Answers(ddb.Answer{})
		for hidden := range 3 {
			older = append(older, func() (ddb.Answer, error) { return m.without(hidden, r) })
		}
		return older
	case ddb.Scan:
		return world.Answers(ddb.Answer{}, ddb.Answer{Items: m.cursorsBefore(r.Filter)})
	}
	return nil
}

// without answers a query as if one of the messages were not stored yet: the page ends with a later
// one then.
func (m *model) without(hidden int, r ddb.Query) (ddb.Answer, error) {
	limit := r.Limit
	r.Limit = 0
	a, err := m.Tables.Do(context.Background(), r)
	if hidden < len(a.Items) {
		a.Items = slices.Delete(slices.Clone(a.Items), hidden, hidden+1)
	}
	if limit > 0 && len(a.Items) >= limit {
		a.Items = a.Items[:limit]
		a.Next = ddb.KeyOf(r.Table, a.Items[limit-1])
	}
	return a, err
}

// cursorsBefore are the queues' cursors as they stood before their last changes, as far as the
// filter of a scan shows them.
func (m *model) cursorsBefore(filter ddb.Cond) []ddb.Item {
	var items []ddb.Item
	for _, queue := range m.QueueNames() {
		if seen := m.cursors[queue]; len(seen) > 0 && filter.Holds(seen[0].item) {
			items = append(items, seen[0].item)
		}
	}
	return items
}

// checkMove checks S2 and S3 for a move that was made.
func (m *model) checkMove(before cursor.Cursor, moved cursor.Range) {
	if before.Position != moved.From || moved.To <= moved.From {
		m.Run.Violation("S3: a move from %d to %d, while the position was %d", moved.From, moved.To,
			before.Position)
	}
	for seq := moved.From + 1; seq <= moved.To; seq++ {
		if _, ok := m.message(place{before.Queue, seq}); !ok {
			m.Run.Violation("S2: the position moved to %d, and seq %d is not stored", moved.To, seq)
		}
	}
}

// checkMark checks that a move leaves parked as it was, or at a message that is stored behind it.
func (m *model) checkMark(before, after cursor.Cursor) {
	if after.MaxParked == before.MaxParked {
		return
	}
	if _, stored := m.message(place{after.Queue, after.MaxParked}); !stored ||
		after.MaxParked < before.MaxParked {
		m.Run.Violation("a move to %d raised parked from %d to %d, where nothing is stored",
			after.Position, before.MaxParked, after.MaxParked)
	}
}

// checkPark checks that a gap that was just put on record is one.
func (m *model) checkPark(before, after cursor.Cursor) {
	switch {
	case after.MaxParked < before.MaxParked:
		m.Run.Violation("parked was lowered from %d to %d", before.MaxParked, after.MaxParked)
	case after.MaxParked > before.MaxParked && after.MaxParked <= after.Position+1:
		m.Run.Violation("a gap is on record up to %d, and the position is %d", after.MaxParked,
			after.Position)
	}
}

// checkPut checks a message or tombstone that was just stored.
func (m *model) checkPut(at place, stored cursor.Message) {
	c := m.cursor(at.queue)
	if c.Erased() {
		// A late writer may store anything: no reader gets it.
		m.stored[at] = stored
		m.records = append(m.records, at)
		return
	}
	if was, ever := m.stored[at]; ever && !same(was, stored) {
		m.Run.Violation("S4: the message at %v was replaced", at)
	}
	if !c.Exists() {
		m.Run.Violation("queue %s has messages and no cursor: no sweep finds it", at.queue)
	}
	if at.seq <= c.Position {
		m.Run.Violation("a message at %v was stored behind the position %d: it is never delivered",
			at, c.Position)
	}
	if stored.Tombstone != "" {
		since, hole := m.holeSince[at]
		if !hole || m.Now.Sub(since) < m.settings.GapAfter {
			m.Run.Violation("seq %d was skipped after %v as a missing one (hole: %v)", at.seq,
				m.Now.Sub(since), hole)
		}
	}
	m.stored[at] = stored
	m.records = append(m.records, at)
}
