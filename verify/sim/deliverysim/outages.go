package deliverysim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
)

// outage is what is away of the sink.
type outage struct {
	// away are the queues of which nothing is taken now; nil where all is taken.
	away []string
	// unreached tells that the sink cannot be reached, else it fails at each batch.
	unreached bool
	// harmless tells that an outage must block nothing: it does not come and go, for what is taken
	// in between would be evidence.
	harmless bool
	// tries, where it is not 0, is how many attempts there are at a bad message at most.
	tries int
	// watched has what is known of the sink asked for and changed in steps of the schedule.
	watched bool
	// knows is what the processes know of the circuits.
	knows map[knower]circuit
}

// circuit is what a process knows of it.
type circuit struct {
	// open tells that it is open, won that the next claim is the process's probe.
	open, won bool
	probes    int64
}

// knower is a process, and the consumer whose circuit it knows.
type knower struct{ process, consumer string }

// looked notes what a process learns of the circuit, as it keeps it.
func (m *model) looked(p *sim.Proc, r ddb.Request, a ddb.Answer) {
	if p == nil {
		return
	}
	it, key := a.Item, ddb.Item{}
	switch r := r.(type) {
	case ddb.Get:
		key = r.Key
		if r.Strong {
			return // for a failure that is noted
		}
	case ddb.Put:
		key = r.Item
		if a.Held {
			it = r.Item
		}
	}
	who := knower{p.Name(), strings.TrimPrefix(key.Get("queue").Str(), "consumer ")}
	before := m.outage.knows[who]
	probes, _ := it.Get("probes").Int64()
	now := circuit{open: it.Has("opened"), probes: probes}
	_, learns := r.(ddb.Put)
	now.won = learns && a.Held && before.open && now.open && probes == before.probes+1
	m.outage.knows[who] = now
}

// claims checks that who knows that the circuit is open claims for a probe, and once.
func (m *model) claims(p *sim.Proc, r ddb.Request) {
	if p == nil {
		return
	}
	who := knower{p.Name(), r.(ddb.Update).Key.Get("consumer").Str()}
	is := m.outage.knows[who]
	if is.open && !is.won {
		m.Run.Violation("N3: %s makes a %s, and the circuit is open", p.Name(), r.Name())
	}
	is.won = false
	m.outage.knows[who] = is
}

var errAway = errors.New("the sink is away")

// refuses is why a batch of a queue is not taken; nil where it is.
func (o *outage) refuses(queue string) error {
	switch {
	case !slices.Contains(o.away, queue):
		return nil
	case o.unreached:
		return delivery.SinkAway(errAway)
	}
	return errAway
}

// goesAway is the sink, which goes away and comes back a number of times, each at any moment.
func (m *model) goesAway(times int, queues ...string) {
	m.Turns("sink", 2*times, sim.Labelf("takes nothing of %v, or all again", queues), nil,
		func(*sim.Proc) func(int) {
			return func(turn int) { m.outage.away = [][]string{queues, nil}[turn%2] }
		})
}

// blocked checks that only a bad message blocks.
func (m *model) blocked(was, is delivery.Consumer) error {
	if !m.outage.harmless || is.State != delivery.Blocked || was.State == delivery.Blocked {
		return nil
	}
	if is.Queue != m.poisoned || is.Delivered+1 != m.poison {
		return fmt.Errorf("N2: %s is blocked at %d, by its sink alone", is.Queue, is.Delivered)
	}
	if m.outage.tries > 0 && is.Attempts > m.outage.tries {
		return fmt.Errorf("N2: it took %d attempts to block the bad message", is.Attempts)
	}
	return nil
}

// circuitClosed reports a circuit that is open in the end, when the sink has taken everything, or
// an operator gave up what was last.
func (m *model) circuitClosed() error {
	e, err := consumers.On(m.view(nil)).Requests(request.Inside{}).Health(context.Background(),
		defaultConsumer, true)
	if err == nil && e.Circuit.Open() {
		err = errors.New("N3: the circuit is open in the end")
	}
	return err
}

// otherQueue is a second one of the consumer's.
const otherQueue = "r"

// twoQueues is a scenario of two queues with a message each.
func twoQueues(name string, faults int, actors ...func(*model)) sim.Scenario {
	begins := func(m *model) {
		// a batch that fails waits for its time
		m.certain = false
		// both queues are known to fail by then
		m.outage.harmless, m.bound.BlockAfter = true, 24*time.Hour
		m.bound.Circuit.Queues = 2
		m.bothQueues()
	}
	return onNew(name, faults, 1, slices.Insert(actors, 0, begins)...)
}

// bothQueues are the queue and another one with a message, both with the consumer.
func (m *model) bothQueues() {
	m.open(otherQueue, cursor.Message{Queue: otherQueue, Seq: 1})
	m.consumer(defaultQueue, defaultConsumer)
	m.consumer(otherQueue, defaultConsumer)
	m.hinted()
}

// failedBefore has it known that the other queue has failed for a while: the circuit opens with the
// next one that does.
func (m *model) failedBefore() {
	since := m.Now.Add(-time.Minute)
	_, _, err := m.tables.Consumers.Requests(request.Inside{}).Learn(context.Background(),
		request.Health{Consumer: defaultConsumer}, request.Health{
			Consumer: defaultConsumer, By: "before", FailingSince: since,
			Failing: []request.FailingQueue{{Queue: otherQueue, At: since}},
		})
	sim.Must(0, err)
}

// behind is a scenario of a bad message that comes in a batch with a good one before it, while the
// sink takes those of another queue.
func behind(name string, faults int, actors ...func(*model)) sim.Scenario {
	begins := func(m *model) {
		m.certain = false
		m.outage.harmless, m.bound.BlockAfter, m.poison = true, 10*time.Minute, 2
		m.bothQueues()
		m.process("P")
	}
	return onNew(name, faults, 2, slices.Insert(actors, 0, begins)...)
}

func outages() []sim.Scenario {
	return []sim.Scenario{
		twoQueues("the sink is away", 1,
			(*model).failedBefore, func(m *model) { m.outage.away = []string{defaultQueue, otherQueue} },
			process("P"), clock(1)),
		twoQueues("the sink is away, step by step", 0,
			(*model).failedBefore,
			func(m *model) { m.outage.away, m.outage.watched = []string{defaultQueue, otherQueue}, true },
			process("P"), clock(2)),
		twoQueues("the sink goes away and comes back", 0,
			process("P"), clock(1), goesAway(1, defaultQueue, otherQueue)),
		twoQueues("the sink cannot be reached by one queue", 0,
			func(m *model) { m.outage.unreached = true }, process("P"), clock(1),
			goesAway(1, defaultQueue)),
		twoQueues("the sink comes and goes", 0,
			func(m *model) { m.outage.unreached = true }, process("P"), clock(1),
			goesAway(2, defaultQueue, otherQueue)),
		twoQueues("a bad message, and a sink that is away", 0, (*model).failedBefore, func(m *model) {
			// it is tried for as long as nothing else is taken
			m.poison, m.bound.BlockAfter, m.outage.harmless = 1, time.Second, false
			m.outage.away = []string{otherQueue}
		}, process("P"), clock(2)),
		behind("a good message before a bad one, and a death", 1, clock(1)),
		behind("a good message before a bad one, and the sink goes away", 0,
			clock(2), goesAway(1, defaultQueue)),
		twoQueues("a bad message beside one that is taken", 0, func(m *model) {
			m.poison, m.bound.BlockAfter = 1, time.Second // nothing may be taken any more
			m.outage.tries = attempts
			m.producer("A", otherQueue, 2)
		}, process("P"), clock(1)),
	}
}

// shuffledOutage is a sink that is away of some queues, or of all, once or more often.
func (m *model) shuffledOutage(random *rand.Rand, queues []string) {
	m.certain = false
	m.bound.Circuit.Queues = 2 + random.IntN(2)
	m.outage.unreached = random.IntN(2) == 0
	m.outage.watched = random.IntN(2) == 0
	m.goesAway(1+random.IntN(2), queues[:1+random.IntN(len(queues))]...)
}
