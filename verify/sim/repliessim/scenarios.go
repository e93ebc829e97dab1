package repliessim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "replies", Small: small(), Large: large(), Random: shuffled}
}

func scenario(name string, faults int, messages int64, actors ...func(*model)) sim.Scenario {
	set := func(run *sim.Run) *model { return newModel(run, messages) }
	return sim.Cast(name, faults, set, actors...)
}

func ticks(steps ...time.Duration) func(*model) { return func(m *model) { m.Ticks(steps...) } }

func sweeper(m *model) { m.Sweeper(1) }

// pushed starts processes that are pushed to so many times; where one dies, another follows.
func pushed(rounds int, names ...string) func(*model) {
	return func(m *model) {
		for _, name := range names {
			m.Run.Daemon(name, func(p *sim.Proc) { m.push(p, rounds) })
		}
	}
}

// pulling starts processes that pull, and wait so many times.
func pulling(rounds int, names ...string) func(*model) {
	return func(m *model) {
		if m.DB == nil {
			m.DB = consumers.NewDatabase()
		}
		for _, name := range names {
			m.Run.Daemon(name, func(p *sim.Proc) {
				_ = m.pull(p, rounds) // what failed is for the next one
			})
		}
	}
}

// another is the body of a message that is no answer.
const another = "another"

// take has a message of somebody else's under a seq of numbers.
func (m *model) take(seq int64) {
	m.byNumber, m.taken = true, seq
	sim.Must(0, m.Plain().Put(context.Background(),
		cursor.Message{Queue: numbers, Seq: seq, Body: []byte(another)})[0].Err)
}

// expiry lets so much time pass that all replies are deleted, while nobody is at a call, and no
// claim waits to be settled.
func (m *model) expiry() {
	m.Step("expiry", sim.Labelf("all expires"), func() bool {
		return m.Running == 0 && len(m.visible) > 0 &&
			(m.Was.State == delivery.Idle || m.Was.State == delivery.Started) &&
			m.Was.Quarantine[0] == (delivery.Quarantined{})
	}, func() {
		m.Now = m.Now.Add(2 * keep)
		m.Expire(m.Now)
	})
}

// small are the small scenarios. P1 to P10 are ways in which other designs fail; each has its
// planted bug in verify/mutant.
func small() []sim.Scenario {
	return []sim.Scenario{
		// P2: a claim is finished before its replies are sent. P8: it is decided before they are staged.
		// Its process dies in between, and nobody ever sends them.
		scenario("pushed, 2 faults", 2, 2, pushed(1, "P")),
		// P1: replies are sent before the decision. The claim is taken over in between: the answer of
		// one that is cancelled is visible.
		scenario("pushed to two, and time", 1, 1, pushed(1, "P", "Q"), ticks(overLease)),
		// P4: the id of a reply has no token in it. What a claim staged that was taken over stands under
		// it, and swallows the answer of the next claim. P9: a claim that is decided is taken over, and
		// its messages are answered by two claims.
		scenario("P4, P9", 1, 1, pushed(2, "P"), ticks(overLease)),
		scenario("pushed, a handler that fails", 2, 1,
			func(m *model) { m.failing = true }, pushed(2, "P"), ticks(time.Second)),
		scenario("pushed, and swept", 2, 1, pushed(1, "P"), ticks(overLease), sweeper),
		// P10: a claim that is decided is given back because a reply could not be sent.
		scenario("P10", 1, 2,
			func(m *model) { m.byNumber = true }, pushed(2, "P"), ticks(time.Second)),
		scenario("pushed, by number", 1, 2,
			func(m *model) { m.byNumber = true }, pushed(1, "P"), ticks(overLease)),
		scenario("pushed, by a number that is taken", 1, 2,
			func(m *model) { m.take(1) }, pushed(1, "P"), ticks(overLease)),
		scenario("pushed, and stale reads", 2, 1,
			func(m *model) { m.Stale() }, pushed(1, "P"), ticks(overLease)),
		// P3 is P2 in two phases. P5: a claim is settled by its marker, and without its replies. P7: they
		// are stored at the prepare, and the transaction is rolled back.
		scenario("pulled, 2 faults", 2, 2, pulling(0, "P")),
		scenario("pulled by two, and time", 1, 1, pulling(0, "P", "Q"), ticks(overLease)),
		scenario("pulled, an effect that fails", 2, 1,
			func(m *model) { m.failing = true }, pulling(1, "P"), ticks(time.Second)),
		scenario("pulled, and quarantined", 1, 2, pulling(0, "P"), ticks(within+overLease), sweeper),
		// P6: a commit whose answer was lost is repeated when its replies have expired: they are stored
		// again.
		scenario("pulled, and all expires", 1, 1, pulling(1, "P"), (*model).expiry),
		scenario("pulled, by a number that is taken", 1, 2,
			func(m *model) { m.take(1) }, pulling(0, "P")),
	}
}

func large() []sim.Scenario {
	return []sim.Scenario{
		scenario("pushed to two, time, and 2 messages", 1, 2, pushed(1, "P", "Q"), ticks(overLease)),
		scenario("pushed to two, time, and swept", 1, 1,
			pushed(1, "P", "Q"), ticks(overLease), sweeper),
		scenario("pulled by two, 2 faults", 2, 1, pulling(0, "P", "Q"), ticks(overLease)),
	}
}

func shuffled(seed uint64) sim.Scenario {
	return sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
		m := newModel(run, 1+random.Int64N(4))
		pulled := random.IntN(2) == 0
		m.failing, m.byNumber = random.IntN(3) == 0, random.IntN(2) == 0
		if m.byNumber && random.IntN(4) == 0 {
			m.take(1 + random.Int64N(m.Messages))
		}
		for i := range 1 + random.IntN(3) {
			name := string(rune('P' + i))
			if pulled {
				pulling(random.IntN(3), name)(m)
			} else {
				pushed(1+random.IntN(3), name)(m)
			}
		}
		m.ShuffledTime(random)
		if pulled && random.IntN(3) == 0 {
			m.expiry()
		}
		return m
	})
}
