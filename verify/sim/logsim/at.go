package logsim

import (
	"fmt"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// batch is a call of a producer that says the seqs. The payload distinguishes two messages under
// one.
type batch struct {
	payload string
	seqs    []int64
}

// at are batches of one payload.
func at(lists ...[]int64) []batch {
	batches := make([]batch, len(lists))
	for i, seqs := range lists {
		batches[i].seqs = seqs
	}
	return batches
}

func (b batch) messages() []cursor.Message {
	messages := make([]cursor.Message, len(b.seqs))
	for i, seq := range b.seqs {
		messages[i] = cursor.Message{Queue: queue, Seq: seq, Body: fmt.Appendf(nil, "at %d%s", seq, b.payload), Kind: cursor.KindArrival}
	}
	return messages
}

// expecting is producer with batches that are to be at their seqs.
func (m *model) expecting(name string, list ...batch) {
	all := make([]call, len(list))
	for i, b := range list {
		for _, message := range b.messages() {
			all[i] = append(all[i], request{messages: []cursor.Message{message}})
		}
	}
	m.producer(name, all...)
}

// seqsOf are n seqs behind those of the entries that a scenario begins with.
func seqsOf(entries int, places ...int64) []int64 {
	seqs := make([]int64, len(places))
	for i, place := range places {
		seqs[i] = int64(entries) + place
	}
	return seqs
}

// expected are the small scenarios of batches at their seqs.
func expected() []sim.Scenario {
	on := func(entries int, lists ...[]int64) []batch {
		for i, list := range lists {
			lists[i] = seqsOf(entries, list...)
		}
		return at(lists...)
	}
	return []sim.Scenario{
		inOrder("at: a new queue", 1, -1, func(m *model) {
			m.expecting("A", at([]int64{1})...)
			m.producer("B", arrivals("b")...)
		}),
		inOrder("at: one batch from two producers", 2, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2})...)
			m.expecting("B", at([]int64{1, 2})...)
		}),
		inOrder("at: two messages at one seq", 2, 0, func(m *model) {
			m.expecting("A", at([]int64{1})...)
			m.expecting("B", batch{"other", []int64{1, 2}})
		}),
		inOrder("at: a repeat that is cut in another way", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2}, []int64{3})...)
			m.expecting("B", at([]int64{1}, []int64{2, 3})...)
		}),
		inOrder("at: a plain append between two", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1}, []int64{2})...)
			m.producer("B", arrivals("b")...)
		}),
		inOrder("at: a hole, and what fills it", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 3}, []int64{3})...)
			m.expecting("B", at([]int64{2})...)
		}),
		inOrder("at: two flush", 1, nearly-1, func(m *model) {
			m.expecting("A", on(nearly-1, []int64{1}, []int64{2})...)
			m.producer("B", arrivals("b")...)
		}),
		inOrder("at: a lost allocation goes into an order item", 1, nearly, func(m *model) {
			m.expecting("A", on(nearly, []int64{1, 2})...)
			m.producer("B", arrivals("b")...)
			m.others(1, nearly-1, 0)
		}),
		inOrder("at: full", 1, queuelog.MaxTail, func(m *model) {
			m.expecting("A", on(queuelog.MaxTail, []int64{1})...)
			m.expecting("B", on(queuelog.MaxTail, []int64{1, 2})...)
		}),
		inOrder("at: read", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2}, []int64{3})...)
			m.reader(2)
		}),
		expectedKept(0),
	}
}

// expectedKept is a row that got no place, and is given one when it is about to expire, or has.
func expectedKept(more int) sim.Scenario {
	return inOrderKept(fmt.Sprintf("at: expires without a place, %d faults", 1+more), 1+more, 0, func(m *model) {
		m.expecting("A", at([]int64{1})...)
		m.expecting("B", at([]int64{1})...)
		m.keeper(5, retention/4)
	})
}

// expectedLarge takes minutes.
func expectedLarge() []sim.Scenario {
	return []sim.Scenario{
		expectedKept(1),
		inOrder("at: three producers, 2 faults", 2, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2})...)
			m.expecting("B", batch{"other", []int64{1}}, batch{"", []int64{2}})
			m.producer("C", arrivals("c")...)
		}),
	}
}
