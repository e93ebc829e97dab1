package arrivalsim

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/logsim"
)

// batch is a call of a producer that says the seqs. The payload distinguishes two messages under one.
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
	m.run.Go(name, func(p *sim.Proc) {
		s := m.process(p)
		for _, b := range list {
			if m.keep > 0 && p.Choose(sim.Labelf("next batch"), nil, "") < 0 {
				return
			}
			for attempt := 0; attempt < patience && !m.putAt(p, s, b); attempt++ {
				if p.Dead() {
					return
				}
			}
		}
	})
}

// putAt makes one call and checks its answers; false where it has to be repeated.
func (m *model) putAt(p *sim.Proc, s *cursor.Sorter, b batch) bool {
	m.running++
	defer func() { m.running-- }()
	messages, before := b.messages(), int64(0)
	if c := m.cursor(); c.Exists() {
		before = c.Position
	}
	p.Knows().Int(before)
	for _, message := range messages {
		m.given1(message)
	}
	results := s.Put(context.Background(), messages...)
	if p.Dead() {
		return false
	}
	known := true
	for i, r := range results {
		if r.Err == nil {
			m.checkAt(messages[i], r, before)
			continue
		}
		if !logsim.IsFault(r.Err) {
			m.run.Violation("S6: seq %d got an error that no fault made: %v", r.Seq, r.Err)
		}
		known = false
	}
	return known
}

// given1 notes that a message is given to a put.
func (m *model) given1(message cursor.Message) {
	body := string(message.Body)
	m.attempts[body]++
	var attempt sim.Digest
	attempt.Text(body)
	m.attemptsSum += attempt.Sum()
}

// checkAt checks A2: what a producer was answered for a message at a seq.
func (m *model) checkAt(message cursor.Message, r cursor.Result, before int64) {
	wrong := func(why string) { m.run.Violation("A2: seq %d was answered %s: %s", r.Seq, r.Outcome, why) }
	body, there := m.bodyAt(r.Seq)
	position := m.cursor().Position
	if r.New > position {
		wrong(fmt.Sprintf("the position is said to be %d, and is %d", r.New, position))
	}
	switch same := body == string(message.Body); r.Outcome {
	case cursor.Advanced, cursor.Duplicate:
		if !there || !same {
			wrong("it is not what is stored: " + body)
		}
		if r.Outcome == cursor.Duplicate && m.attempts[string(message.Body)] == 1 {
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
	for _, p := range m.order {
		if seq > p.seqs.From && seq <= p.seqs.To {
			return p.bodies[seq-p.seqs.From-1], true
		}
	}
	return "", false
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
		scenario("at: a new queue", 1, -1, func(m *model) {
			m.expecting("A", at([]int64{1})...)
			m.producer("B", calls("b")...)
		}),
		scenario("at: one batch from two producers", 2, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2})...)
			m.expecting("B", at([]int64{1, 2})...)
		}),
		scenario("at: two messages at one seq", 2, 0, func(m *model) {
			m.expecting("A", at([]int64{1})...)
			m.expecting("B", batch{"other", []int64{1, 2}})
		}),
		scenario("at: a repeat that is cut in another way", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2}, []int64{3})...)
			m.expecting("B", at([]int64{1}, []int64{2, 3})...)
		}),
		scenario("at: a plain append between two", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1}, []int64{2})...)
			m.producer("B", calls("b")...)
		}),
		scenario("at: a hole, and what fills it", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 3}, []int64{3})...)
			m.expecting("B", at([]int64{2})...)
		}),
		scenario("at: two flush", 1, nearly-1, func(m *model) {
			m.expecting("A", on(nearly-1, []int64{1}, []int64{2})...)
			m.producer("B", calls("b")...)
		}),
		scenario("at: a lost allocation goes into an order item", 1, nearly, func(m *model) {
			m.expecting("A", on(nearly, []int64{1, 2})...)
			m.producer("B", calls("b")...)
			m.others(1, nearly-1)
		}),
		scenario("at: full", 1, queuelog.MaxTail, func(m *model) {
			m.expecting("A", on(queuelog.MaxTail, []int64{1})...)
			m.expecting("B", on(queuelog.MaxTail, []int64{1, 2})...)
		}),
		scenario("at: read", 1, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2}, []int64{3})...)
			m.reader(2)
		}),
		expectedKept(0),
	}
}

// expectedKept is a row that got no place, and is given one when it is about to expire, or has.
func expectedKept(more int) sim.Scenario {
	return scenarioKept(fmt.Sprintf("at: expires without a place, %d faults", 1+more), 1+more, 0, func(m *model) {
		m.expecting("A", at([]int64{1})...)
		m.expecting("B", at([]int64{1})...)
		m.keeper(5, retention/4)
	})
}

// expectedLarge takes minutes.
func expectedLarge() []sim.Scenario {
	return []sim.Scenario{
		expectedKept(1),
		scenario("at: three producers, 2 faults", 2, 0, func(m *model) {
			m.expecting("A", at([]int64{1, 2})...)
			m.expecting("B", batch{"other", []int64{1}}, batch{"", []int64{2}})
			m.producer("C", calls("c")...)
		}),
	}
}

// shuffledExpecting are up to two producers that say the seqs, from behind the entries on: in order, cut at
// random, some again, some with another payload, some with a hole.
func (m *model) shuffledExpecting(random *rand.Rand, entries int) {
	for i := range 1 + random.IntN(2) {
		var list []batch
		for next := int64(entries) + 1; len(list) < 1+random.IntN(5); {
			b := batch{}
			if random.IntN(8) == 0 {
				b.payload = "other"
			}
			first := max(next-random.Int64N(3), 1)
			for seq := first; seq < first+1+random.Int64N(4); seq++ {
				if random.IntN(10) > 0 {
					b.seqs = append(b.seqs, seq)
				}
				next = seq + 1
			}
			if len(b.seqs) > 0 {
				list = append(list, b)
			}
		}
		m.expecting(fmt.Sprintf("expecting %d", i), list...)
	}
}
