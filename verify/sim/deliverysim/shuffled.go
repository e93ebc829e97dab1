package deliverysim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
)

// shuffled draws up to eight messages of up to two queues, and all that may go on beside them.
func shuffled(seed uint64) sim.Scenario {
	return sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
		m := newModel(run)
		m.certain = seed%7 == 0
		m.bound.MaxMessages = 1 + random.IntN(4)
		m.bound.MaxAttempts = attempts + random.IntN(3)
		m.Page = random.IntN(4)
		queues := []string{defaultQueue, "r"}[:1+random.IntN(2)]
		for _, queue := range queues {
			m.shuffledQueue(random, queue)
		}
		m.hinted()
		if random.IntN(3) == 0 {
			m.shuffledWork(random)
		}
		if random.IntN(3) == 0 {
			m.poison, m.permanent, m.parts = 1+random.Int64N(4), random.IntN(2) == 0, random.IntN(2) == 0
			m.poisoned = queues[len(queues)-1]
		}
		for i := range 1 + random.IntN(3) {
			name := fmt.Sprint("process ", i)
			m.Clocks[name] = time.Duration(random.IntN(3)-1) * overLease * time.Duration(i)
			m.process(name)
		}
		if random.IntN(2) == 0 {
			m.sweeper(1+random.IntN(2), random.IntN(2) == 0)
		}
		if random.IntN(3) == 0 {
			m.timer(m.names()...)
		}
		times := random.IntN(5)
		step := []time.Duration{time.Second, overLease, 3 * time.Minute}[random.IntN(3)]
		m.Ticks(slices.Repeat([]time.Duration{step}, times)...)
		if random.IntN(2) == 0 {
			m.shuffledOperator(random)
		}
		if random.IntN(3) == 0 {
			m.shuffledOutage(random, queues)
		}
		return m
	})
}

// shuffledWork is work of batches that are deferred: with chains, or by their tokens.
func (m *model) shuffledWork(random *rand.Rand) {
	most := m.bound.MaxMessages
	m.defers(random.IntN(4))
	m.bound.MaxMessages, m.work.fails = most, random.IntN(3)
	for i := range 1 + random.IntN(2) {
		m.worker(fmt.Sprint("worker ", i))
		if m.work.depth > 0 {
			m.ender(fmt.Sprint("ender ", i))
		}
	}
	if m.work.depth > 0 && random.IntN(4) == 0 {
		m.extender(time.Duration(1+random.IntN(3)) * track)
	}
	if random.IntN(4) == 0 {
		m.remaker()
	}
}

// names are the consumers that stand behind the stream.
func (m *model) names() []string {
	names := []string{defaultConsumer}
	for _, at := range m.readers {
		if at.name != defaultConsumer {
			return append(names, at.name)
		}
	}
	return names
}

// shuffledQueue is a queue with some of its messages, its consumers, and who puts the others.
func (m *model) shuffledQueue(random *rand.Rand, queue string) {
	count, there := 1+random.Int64N(6), random.Int64N(4)
	var before []cursor.Message
	var later []int64
	for seq := int64(1); seq <= count; seq++ {
		message := cursor.Message{Queue: queue, Seq: seq}
		if random.IntN(6) == 0 {
			message.Tombstone = "skipped"
		}
		if seq <= there {
			before = append(before, message)
			continue
		}
		if message.Tombstone != "" {
			seq = -seq
		}
		later = append(later, seq)
		seq = max(seq, -seq)
	}
	m.open(queue, before...)
	if random.IntN(3) > 0 {
		m.consumer(queue, defaultConsumer)
	}
	if random.IntN(3) == 0 {
		m.consumer(queue, "d")
	}
	m.producer("producer of "+queue, queue, later...)
}

// shuffledOperator is an operator who does up to four things.
func (m *model) shuffledOperator(random *rand.Rand) {
	var operations []operation
	for range 1 + random.IntN(4) {
		operations = append(operations, []operation{
			{kind: "skip", seq: 1 + random.Int64N(4)},
			{kind: "redrive", seq: 1 + random.Int64N(4)},
			{kind: "rewind", start: delivery.At(1 + random.Int64N(4))},
			{kind: "rewind", start: delivery.First},
			{kind: "rewind", start: delivery.Latest},
			{kind: "pause"},
			{kind: "resume"},
		}[random.IntN(7)])
	}
	m.operator("operator", operations...)
}
