package handoffsim

import (
	"context"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/verify/sim"
)

// Packed runs: several messages are one item, and a claim, a start, a bad message or the end of what may be deleted can be
// anywhere in it. How one comes to be is the part of cursorsim; here each is there at once, and moved over.

// runOf is how many of the messages, from the first on, arrive together.
func (m *model) runOf(messages []cursor.Message) int {
	n := 0
	for n < min(m.together, len(messages)) && messages[n].Tombstone == "" {
		n++
	}
	return max(n, 1)
}

// arriveAll lets messages arrive at once.
func (m *model) arriveAll(messages []cursor.Message) {
	for n := 0; len(messages) > 0; messages = messages[n:] {
		n = m.runOf(messages)
		m.arrive(messages[:n]...)
	}
}

// packed are messages as one item.
func packed(messages []cursor.Message) cursor.Message {
	return cursor.Message{Queue: messages[0].Queue, Seq: messages[0].Seq, Packed: messages, Digest: []byte("that of the run."), Op: []byte("op")}
}

// stored is what a seq is read from in a queue that may have packed runs: the packed run that
// holds it, or the message.
func (m *model) stored(queue string, seq int64) (cursor.Message, bool) {
	page, _ := m.tables.Queues.Messages(context.Background(), cursor.Query{Queue: queue, First: 0, Last: seq})
	var found cursor.Message
	for _, item := range page.Messages {
		switch end := found.Seq + int64(len(found.Packed)); {
		case item.Seq < end: // a stray
		case item.Seq == seq || item.Seq+int64(len(item.Packed)) > seq:
			found = item
		}
	}
	return found, found.Seq > 0
}

// stray stores another message within a packed run, as a writer does that came too late.
func (m *model) stray(seq int64) {
	_, _ = m.tables.Queues.PutMessage(context.Background(), cursor.Message{
		Queue: defaultQueue, Seq: seq, Body: []byte("a stray"), AmongPacks: true, EnqueuedAt: m.now,
	})
}

// packing is a scenario in which three messages that follow each other are a packed run.
func packing(name string, faults int, messages int64, actors func(*model)) sim.Scenario {
	return onQueue("packs: "+name, faults, messages, 3, func(m *model) {
		m.consumer(defaultQueue, defaultConsumer)
		actors(m)
	})
}

// packs are the scenarios of packed runs of which every schedule is walked.
func packs() []sim.Scenario {
	return []sim.Scenario{
		packing("one process", 1, 0, func(m *model) {
			m.producer("A", defaultQueue, 1, 2, 3, 4)
			m.process("P", 0)
		}),
		packing("two processes", 0, 3, func(m *model) {
			m.producer("A", defaultQueue, 4, 5)
			m.process("P", 0)
			m.process("Q", 0)
			m.hinted()
		}),
		packing("a zombie", 0, 3, func(m *model) {
			m.process("P", 0)
			m.process("Q", 0)
			m.clock(1, overLease)
			m.hinted()
		}),
		packing("a message within that no sink takes", 0, 3, func(m *model) {
			m.poison = 2
			m.process("P", 0)
			m.clock(2, overLease)
			m.hinted()
			m.operator("op", operation{kind: handoff.OpSkip, seq: 2})
		}),
		packing("two consumers", 1, 0, func(m *model) {
			m.consumer(defaultQueue, "d")
			m.producer("A", defaultQueue, 1, 2, 3)
			m.process("P", 0)
		}),
		packing("read in pages, with a skipped seq and a stray", 1, 3, func(m *model) {
			m.page = 1
			m.stray(2)
			m.producer("A", defaultQueue, -4, 5)
			m.process("P", 0)
		}),
		packing("rewound to within, beside a stray", 1, 3, func(m *model) {
			m.caughtUp()
			m.stray(2)
			m.process("P", 0)
			m.operator("O", operation{kind: handoff.OpRewind, start: handoff.At(2)})
		}),
		packing("rewound to within while the past is deleted", 0, 3, func(m *model) {
			m.caughtUp()
			m.sweeper(2, true)
			m.slowClock(2, cursor.DeleteAfter)
			m.operator("O", operation{kind: handoff.OpRewind, start: handoff.At(2)})
		}),
		packing("deleted behind one that is within", 0, 3, func(m *model) {
			m.partWay()
			m.sweeper(2, true)
			m.slowClock(2, cursor.DeleteAfter)
		}),
		packing("kept behind one that is within", 1, 0, func(m *model) {
			m.expiring(defaultQueue, 3)
			m.partWay()
			m.keeper(5)
		}),
		packing("after a quiet time", 1, 0, func(m *model) {
			m.quiet()
			m.producer("A", defaultQueue, 1, 2, 3)
			m.process("P", 0)
		}),
		packing("archived, then deleted", 1, 3, func(m *model) {
			m.shelved = map[string]string{}
			m.caughtUp()
			m.sweeper(2, true)
			m.slowClock(2, cursor.DeleteAfter)
		}),
	}
}

// partWay hands on the first two messages before the run, and no more: no sink takes the third yet.
func (m *model) partWay() {
	m.poison = 3
	m.caughtUp()
	m.poison = 0
}
