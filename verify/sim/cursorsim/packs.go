package cursorsim

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// Packed runs. A packed run counts as stored once the position was moved over it: its
// messages are those of the queue then, and what else is stored under one of its seqs is a
// stray. Before, it is live, if the position is right before it and nothing is parked from
// its first seq on, and dead otherwise: nobody was told that it is stored.

// items are what is stored of a queue, in the order of the keys.
func (m *model) items(queue string) []cursor.Message {
	page, _ := m.store.Messages(context.Background(), cursor.Query{Queue: queue, Last: cursor.MaxSeq, Strong: true})
	return page.Messages
}

// read are the messages of a queue in the order of their seqs.
func (m *model) read(queue string) []cursor.Message {
	position := m.cursor(queue).Position
	var all []cursor.Message
	expect := int64(0)
	for _, item := range m.items(queue) {
		switch {
		case item.Seq < expect: // a stray
		case len(item.Packed) == 0:
			all = append(all, item)
		case item.Seq <= position:
			all = append(all, item.Packed...)
			expect = item.Seq + int64(len(item.Packed))
		}
	}
	return all
}

// packs are the packed runs that are stored, whatever their state.
func (m *model) packs(queue string) []cursor.Message {
	if m.settings.Packs == cursor.PacksNone {
		return nil
	}
	var packs []cursor.Message
	for _, item := range m.items(queue) {
		if len(item.Packed) > 0 {
			packs = append(packs, item)
		}
	}
	return packs
}

// live1 is the packed run under a seq that anybody may still move the position over.
func (m *model) live1(queue string, first int64) (cursor.Message, bool) {
	c := m.cursor(queue)
	for _, pack := range m.packs(queue) {
		if pack.Seq == first && c.Position == first-1 && c.MaxParked < first {
			return pack, true
		}
	}
	return cursor.Message{}, false
}

// noteOverwritten keeps a dead packed run in whose place a message or a tombstone was put.
func (m *model) noteOverwritten(c ddb.Change) {
	if c.Before.Has("count") && c.After.Exists() && !c.After.Has("count") {
		m.overwritten[placeOf(c.Before)] = c.Before
	}
}

// beforeOverwritten answers a query as if no dead packed run had been overwritten yet.
func (m *model) beforeOverwritten(r ddb.Query) (ddb.Answer, error) {
	a, err := m.tables.Do(context.Background(), r)
	a.Items = slices.Clone(a.Items)
	for i, it := range a.Items {
		if was, dead := m.overwritten[placeOf(it)]; dead {
			a.Items[i] = was
		}
	}
	return a, err
}

// checkPacked checks a move over a packed run.
func (m *model) checkPacked(before cursor.Cursor, moved cursor.Range) {
	if before.Position != moved.From || moved.To <= moved.From {
		m.run.Violation("S3: a move from %d to %d, while the position was %d", moved.From, moved.To, before.Position)
	}
	for seq := moved.From + 1; seq <= moved.To; seq++ {
		if _, ok := m.message(place{before.Queue, seq}); !ok {
			m.run.Violation("S2: the position moved to %d, and seq %d is not stored", moved.To, seq)
		}
	}
	m.accepted(before.Queue, moved)
}

// accepted notes what is stored by a packed run that the position was moved over.
func (m *model) accepted(queue string, run cursor.Range) {
	for seq := run.From + 1; seq <= run.To; seq++ {
		at := place{queue, seq}
		now, ok := m.message(at)
		if !ok {
			continue
		}
		if told, ever := m.durable[at]; ever && told != string(now.Body) {
			m.run.Violation("S4: the message at %v was answered, and is replaced by a packed run", at)
		}
		m.stored[at] = now
		delete(m.holeSince, at)
	}
}

func packed(s *cursor.Settings) { s.Packs = cursor.PacksOn }

// undecided is for queues that are packed if a batch makes them.
func undecided(s *cursor.Settings) { s.Packs = cursor.PacksAuto }

// largePackScenarios take minutes.
func largePackScenarios() []sim.Scenario {
	return []sim.Scenario{
		scenario("packs: a single within, and a handler", 1, packed, func(m *model) {
			m.writer("A", put{seqs: []int64{1, 2, 3}})
			m.writer("B", put{payload: "other", seqs: []int64{2}})
			m.handler()
		}),
		scenario("packs: a single beyond, and a handler", 1, packed, func(m *model) {
			m.writer("A", put{seqs: []int64{1, 2}})
			m.writer("B", puts(3)...)
			m.handler()
		}),
		scenario("packs: delivered, beside another", 1, packed, func(m *model) {
			m.writer("A", put{seqs: []int64{1, 2}}, put{seqs: []int64{3, 4}})
			m.writer("B", put{payload: "other", seqs: []int64{2, 3}})
			m.consumer()
		}),
		scenario("packs: expired while delivered", 2, packed, func(m *model) {
			m.keep = cursor.MinRetention
			m.writer("A", put{seqs: []int64{1, 2}}, put{seqs: []int64{3, 4}})
			m.expiry(1, cursor.MinRetention)
			m.consumer()
		}),
	}
}

// switchedScenarios are those of queues that a put makes, and of those that are switched off and on.
func switchedScenarios() []sim.Scenario {
	run := func(payload string, seqs ...int64) put { return put{payload: payload, seqs: seqs} }
	return []sim.Scenario{
		onNew("packs: made by a batch, or by a single", 1, undecided, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 2))
		}),
		onNew("packs: made by a batch, or by another", 1, undecided, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 1, 2, 3))
		}),
		onNew("packs: made by a batch, or by a later one", 1, undecided, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("", 3, 4))
		}),
		scenario("packs: switched off", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2), run("", 3, 4))
			m.switcher(cursor.PacksOff)
			m.writer("B", run("other", 2))
		}),
		scenario("packs: switched off and on", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2), run("", 3, 4))
			m.switcher(cursor.PacksOff, cursor.PacksOn)
			m.consumer()
		}),
	}
}

// packScenarios are those of packed runs, of which every schedule is walked in seconds.
func packScenarios() []sim.Scenario {
	run := func(payload string, seqs ...int64) put { return put{payload: payload, seqs: seqs} }
	return []sim.Scenario{
		scenario("packs: one", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.handler()
		}),
		scenario("packs: two of the same", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("", 1, 2))
		}),
		scenario("packs: another at the same seq", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 1, 2, 3))
		}),
		scenario("packs: another at the same seq, as long", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 1, 2))
		}),
		scenario("packs: two meet a dead one", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("", 3), run("other", 1))
		}),
		scenario("packs: a single at its first", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 1))
			m.handler()
		}),
		scenario("packs: a single within", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2, 3))
			m.writer("B", run("other", 2))
		}),
		scenario("packs: a single beyond", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("", 3))
		}),
		scenario("packs: a dead one, and skipped", 0, func(s *cursor.Settings) { packed(s); skipSettings(s) }, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("", 3))
			m.skipper(1)
			m.clock(1, 2*time.Second)
		}),
		scenario("packs: one behind the other", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2), run("", 3, 4))
			m.writer("B", run("other", 3))
		}),
		scenario("packs: delivered", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 2, 3))
			m.consumer()
		}),
		scenario("packs: erased", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.eraser(defaultQueue)
			m.handler()
		}),
		scenario("packs: kept while it is undelivered", 1, packed, func(m *model) {
			m.keep = cursor.MinRetention
			m.writer("A", run("", 1, 2))
			m.writer("B", run("", 4))
			m.keeper(3, cursor.MinRetention/4)
		}),
		scenario("packs: expired", 1, packed, func(m *model) {
			m.keep = cursor.MinRetention
			m.writer("A", run("", 1, 2), run("", 2))
			m.expiry(1, cursor.MinRetention)
		}),
		scenario("packs: without handler", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 2), run("", 1))
		}),
		scenario("packs: a single within the one before", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2), run("", 3, 4))
			m.writer("B", run("other", 2))
		}),
		scenario("packs: a single at its first, and one beyond", 0, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.writer("B", run("other", 1))
			m.writer("C", run("", 4))
		}),
		scenario("packs: behind a gap that is filled", 0, packed, func(m *model) {
			m.writer("A", run("", 2), run("", 1))
			m.writer("B", run("", 3, 4))
		}),
		scenario("packs: read from within", 0, packed, func(m *model) {
			m.writer("A", run("", 1, 2), run("", 3, 4))
			m.writer("B", run("other", 2))
			m.reader(1, 1)
		}),
		scenario("packs: an older version", 1, packed, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.olderVersion("B", run("other", 1, 2))
		}),
		onNew("packs: an older version, and the first run", 1, undecided, func(m *model) {
			m.writer("A", run("", 1, 2))
			m.olderVersion("B", run("other", 1))
		}),
		scenario("packs: an older version, and a handler", 0, packed, func(m *model) {
			m.writer("A", run("", 1, 2), run("", 3, 4))
			m.olderVersion("B", run("", 2, 3))
			m.handler()
		}),
	}
}
