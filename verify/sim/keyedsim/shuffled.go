package keyedsim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// enough is a budget with which a settler makes progress, whatever it has to flush.
const enough = 9

// Shuffled is the scenario of a seed: up to four producers that put up to a dozen messages,
// some twice, some in groups, some under one key, beside wake-ups with bounds, sweeps, others,
// a reader, clocks that are apart, time that passes, tables that are set back, and up to six
// faults.
func Shuffled(seed uint64) sim.Scenario {
	made := crowds{}
	s := sim.Scenario{
		Name:   fmt.Sprint("shuffled ", seed),
		Faults: int(seed % 7),
		New: func(run *sim.Run) sim.Model {
			random := rand.New(rand.NewPCG(seed, 1))
			settings := with([]time.Duration{0, window, window}[random.IntN(3)], []cursor.LatePolicy{cursor.LateDeliver, cursor.LateDrop}[random.IntN(2)])
			m := newModel(run, made, settings)
			m.create()
			if seed%5 > 0 {
				m.page = []int{0, 1, 3}[random.IntN(3)]
			}
			m.shuffle(random)
			return m
		},
	}
	if seed%5 == 0 {
		s.Budget = enough
	}
	return s
}

// shuffle starts the actors.
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
		m.keeper(1+random.IntN(6), retention/4)
	} else {
		m.clock([]time.Duration{window / 2, window, 6 * time.Minute}[:1+random.IntN(3)]...)
	}
}

// shuffleClocks sets clocks apart; one may be wrong by far.
func (m *model) shuffleClocks(random *rand.Rand) {
	for _, name := range []string{"producer0", "producer1", "sweep0", "wake-up0-0"} {
		m.clocks[name] = time.Duration(random.IntN(5)-2) * time.Second
	}
	if m.keep == 0 && random.IntN(6) == 0 {
		m.clocks["producer2"] = 10 * time.Minute
	}
	m.slow["sweep0"] = random.IntN(2) == 0
}

// shares are the calls of up to four producers.
func shares(random *rand.Rand) [][]call {
	all := make([][]call, 1+random.IntN(4))
	for range 2 + random.IntN(7) {
		var c call
		for range 1 + random.IntN(3)/2*random.IntN(3) {
			k := one(int64(random.IntN(7)*10), fmt.Sprint("id", random.IntN(2)), []string{"", "", "", "", "", "other"}[random.IntN(6)])
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
func (c call) clashes(k keyed) bool {
	for _, o := range c {
		if o.sortKey() == k.sortKey() && o.name() != k.name() {
			return true
		}
	}
	return false
}
