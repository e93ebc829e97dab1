package logsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// enough is a budget with which a settler makes progress, whatever it has to flush.
const enough = 9

// shuffledKeyed draws up to a dozen messages of a keyed queue, and all that may go on beside them.
func shuffledKeyed(seed uint64) sim.Scenario {
	made := crowds{}
	s := sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
		m := newModel(run, made, with([]time.Duration{0, window, window}[random.IntN(3)],
			[]cursor.LatePolicy{cursor.LateDeliver, cursor.LateDrop}[random.IntN(2)]))
		m.begin()
		if seed%5 > 0 {
			m.Page = []int{0, 1, 3}[random.IntN(3)]
		}
		m.shuffle(random)
		return m
	})
	if seed%5 == 0 {
		s.Budget = enough
	}
	return s
}

func (m *model) shuffle(random *rand.Rand) {
	before := []int{0, 0, 3, anOrderItem - 2, anOrderItem + 1}[random.IntN(5)]
	if before > 0 {
		m.crowd(10, before)
	}
	if random.IntN(3) == 0 {
		m.keep = retention
	}
	m.shuffleClocks(random)
	for i, own := range shares(random) {
		m.producer(fmt.Sprint("producer", i), own...)
	}
	m.sweeper(1 + random.IntN(2))
	for i := range random.IntN(3) {
		m.settler(fmt.Sprintf("wake-up%d-", i), 1, sortKeyOf(int64(random.IntN(60)), "x"))
	}
	if random.IntN(3) == 0 {
		m.others(1+random.IntN(2), 1+random.IntN(20), 70)
	}
	if random.IntN(2) == 0 {
		m.flusher()
	}
	switch random.IntN(12) {
	case 0:
		m.restored()
	case 1:
		m.loser()
	case 2, 3, 4, 5:
		m.reader(1 + random.IntN(2))
	}
	if m.keep == 0 && !m.pauses && random.IntN(4) == 0 {
		m.restarter("restart")
	}
	if m.keep > 0 {
		m.keeper(1 + random.IntN(6))
	} else {
		m.Ticks([]time.Duration{window / 2, window, 6 * time.Minute}[:1+random.IntN(3)]...)
	}
}

// shuffleClocks sets clocks apart; one may be wrong by far.
func (m *model) shuffleClocks(random *rand.Rand) {
	for _, name := range []string{"producer0", "producer1", "sweep0", "wake-up0-0"} {
		m.Clocks[name] = time.Duration(random.IntN(5)-2) * time.Second
	}
	if m.keep == 0 && random.IntN(6) == 0 {
		m.Clocks["producer2"] = 10 * time.Minute
	}
	m.Slow["sweep0"] = random.IntN(2) == 0
}

func shares(random *rand.Rand) [][]call {
	all := make([][]call, 1+random.IntN(4))
	for range 2 + random.IntN(7) {
		var c call
		for range 1 + random.IntN(3)/2*random.IntN(3) {
			k := one(int64(random.IntN(7)*10), fmt.Sprint("id", random.IntN(2)),
				[]string{"", "", "", "", "", "other"}[random.IntN(6)])
			if random.IntN(6) == 0 {
				k = behind("id0", k)
			}
			if !c.clashes(k) {
				c = append(c, k)
			}
		}
		w := random.IntN(len(all))
		all[w] = append(all[w], c)
	}
	return all
}

// clashes reports whether another message of the call has the same key and id.
func (c call) clashes(k request) bool {
	return slices.ContainsFunc(c, func(o request) bool {
		return o.sortKey() == k.sortKey() && o.name() != k.name()
	})
}

// shuffledArrivals draws up to a dozen appends in arrival order, in one of three beside batches
// that say their seqs.
func shuffledArrivals(seed uint64) sim.Scenario {
	made := crowds{}
	return sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
		m := newModel(run, made, arrivalOrder)
		if random.IntN(3) == 0 {
			m.keep = retention
		}
		entries := []int{0, 10, nearly - 3, nearly, queuelog.MaxTail - 2}[random.IntN(5)]
		m.create()
		m.append("before", entries)
		if seed%3 == 1 {
			m.shuffledExpecting(random, entries)
		}
		producers := 1 + random.IntN(4)
		share := make([][]call, producers)
		for range 2 + random.IntN(8) {
			c := call{}
			for range 1 + random.IntN(3)/2*random.IntN(3) {
				id := fmt.Sprint("id", random.IntN(8))
				payload := ""
				if random.IntN(12) == 0 {
					payload = "other"
				}
				a := together(id, payload, 1+random.IntN(7)/6)
				if !slices.ContainsFunc(c, func(o request) bool { return o.name() == id }) {
					c = append(c, a)
				}
			}
			w := random.IntN(producers)
			share[w] = append(share[w], c)
		}
		for i, own := range share {
			m.producer(fmt.Sprintf("producer %d", i), own...)
		}
		if random.IntN(3) > 0 {
			m.others(1+random.IntN(3), 5+random.IntN(20), 0)
		}
		if random.IntN(4) == 0 {
			m.turnover(1 + random.IntN(3))
		}
		if random.IntN(2) == 0 {
			m.reader(1 + random.IntN(3))
		}
		if m.keep > 0 {
			m.keeper(1 + random.IntN(6))
		}
		return m
	})
}

// shuffledExpecting are up to two producers that say the seqs, from behind the entries on: in
// order, cut at random, some again, some with another payload, some with a hole.
func (m *model) shuffledExpecting(random *rand.Rand, entries int) {
	for i := range 1 + random.IntN(2) {
		var list []call
		for next := int64(entries) + 1; len(list) < 1+random.IntN(5); {
			payload, seqs := "", []int64(nil)
			if random.IntN(8) == 0 {
				payload = "other"
			}
			first := max(next-random.Int64N(3), 1)
			for seq := first; seq < first+1+random.Int64N(4); seq++ {
				if random.IntN(10) > 0 {
					seqs = append(seqs, seq)
				}
				next = seq + 1
			}
			if len(seqs) > 0 {
				list = append(list, at(payload, seqs...))
			}
		}
		m.producer(fmt.Sprintf("expecting %d", i), list...)
	}
}
