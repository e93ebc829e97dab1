package twophasesim

import (
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "twophase", Small: small(), Large: large(), Random: shuffled}
}

func scenario(name string, faults int, messages int64, actors ...func(*model)) sim.Scenario {
	set := func(run *sim.Run) *model { return newModel(run, messages) }
	return sim.Cast(name, faults, set, actors...)
}

func ticks(steps ...time.Duration) func(*model) { return func(m *model) { m.Ticks(steps...) } }

func sweeper(m *model) { m.Sweeper(1) }

// process are processes that consume until nothing is ready, or they have to wait; each is followed
// by another where it dies.
func process(names ...string) func(*model) {
	return func(m *model) {
		for _, name := range names {
			m.patient(name, 0)
		}
	}
}

// patient is a process that waits a number of times.
func (m *model) patient(name string, rounds int) {
	m.Run.Daemon(name, func(p *sim.Proc) { _ = m.consume(p, rounds) })
}

// restorer puts the database back to a backup that it makes at any moment before.
func (m *model) restorer() {
	m.Run.Go("restorer", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("backup"), nil, "") < 0 {
			return
		}
		backup := m.DB.Copied()
		backup.Hash(p.Knows())
		if p.Choose(sim.Labelf("restore"), nil, "") < 0 {
			return
		}
		backup.Epoch = m.DB.Epoch + 1
		for _, e := range m.DB.Effects[len(backup.Effects):] {
			backup.Lost = append(backup.Lost, e.Token)
		}
		m.DB = backup
	})
}

// tablesRestorer puts the tables back to a backup that it makes at any moment before, as an
// operator does: with all consumers stopped.
func (m *model) tablesRestorer() {
	m.Run.Go("restorer of the tables", func(p *sim.Proc) {
		if p.Choose(sim.Labelf("backup of the tables"), nil, "") < 0 {
			return
		}
		backup := m.backup()
		m.Hash(p.Knows(), backup.item)
		if p.Choose(sim.Labelf("restore of the tables"), nil, "") < 0 {
			return
		}
		m.restore(backup)
	})
}

func small() []sim.Scenario {
	return []sim.Scenario{
		scenario("one process, every fault twice", 2, 2, process("P")),
		scenario("two processes, two batches, two faults", 2, 2, process("P", "Q")),
		scenario("two processes and time", 1, 1, process("P", "Q"), ticks(overLease)),
		scenario("a sweep", 1, 1, process("P"), ticks(overLease), sweeper),
		scenario("quarantine", 1, 2, process("P"), ticks(within+overLease), sweeper),
		scenario("a message that no transaction takes", 1, 2,
			func(m *model) { m.poison = 2 }, process("P"), ticks(10*time.Minute)),
		scenario("restored", 1, 2, process("P"), (*model).restorer),
		scenario("the tables are restored", 1, 2, process("P"), (*model).tablesRestorer),
		scenario("the tables are restored, and time", 0, 2,
			process("P"), ticks(overLease), (*model).tablesRestorer),
		scenario("few markers", 1, 3,
			func(m *model) { m.Markers = 1 }, process("P"), ticks(overLease)),
	}
}

func large() []sim.Scenario {
	return []sim.Scenario{
		scenario("two processes, time, and the tables are restored", 0, 2,
			process("P", "Q"), ticks(overLease), (*model).tablesRestorer),
		scenario("two processes, time and a sweep", 1, 1,
			process("P", "Q"), ticks(overLease), sweeper),
		scenario("two processes and quarantine", 1, 1,
			process("P", "Q"), ticks(within+overLease), sweeper),
	}
}

func shuffled(seed uint64) sim.Scenario {
	return sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
		m := newModel(run, 1+random.Int64N(4))
		if random.IntN(4) == 0 {
			m.poison = 1 + random.Int64N(m.Messages)
		}
		if random.IntN(3) == 0 {
			m.Markers = 1
		}
		for i := range 1 + random.IntN(3) {
			m.patient(string(rune('P'+i)), random.IntN(3))
		}
		m.ShuffledTime(random)
		if random.IntN(6) == 0 {
			m.restorer()
		}
		return m
	})
}
