package deliverysim

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
)

// ownCalls are calls that deliver a queue which would hold up others.
type ownCalls struct {
	// on tells that there are any, slow the queue whose sink is slow.
	on   bool
	slow string
	// shared tells that the tenant's share may be used up when a call begins.
	shared bool
	// asked are the queues of those that are to be made.
	asked []string
}

// longerThanBeside is longer than a batch may take beside others.
const longerThanBeside = time.Minute + time.Second

// slowFor is for how long a queue is known to be slow.
const slowFor = 10 * time.Minute

// beside checks A of a batch that is delivered beside others.
func (m *model) beside(b delivery.Batch) {
	slow := b.Queue == m.own.slow &&
		m.Now.Sub(m.consumers[reader{b.Queue, b.Consumer}].Answer.At) < slowFor
	if m.own.on && (slow || b.Attempt > 1) {
		m.Run.Violation("A: %d to %d of %s was delivered beside others, attempt %d", b.From, b.To,
			b.Queue, b.Attempt)
	}
}

// byItself has the sink say how long it took for a batch of a call of its own.
func (m *model) byItself(b delivery.Batch) {
	if b.Queue == m.own.slow {
		b.Answered(delivery.Response{Status: 200, Took: longerThanBeside, At: m.Now})
	}
}

// aside asks for a call; nil where there are none.
func (m *model) aside(p *sim.Proc) func(ctx context.Context, queue, consumer string) error {
	if !m.own.on {
		return nil
	}
	return func(_ context.Context, queue, _ string) error {
		_, err := sim.Do(p, sim.Labelf("ask for a call of %s", queue), true, func() (bool, error) {
			m.own.asked = append(m.own.asked, queue)
			return true, nil
		})
		return err
	}
}

// caller makes the calls that were asked for, one after the other. One that dies is not made again,
// and one may be dropped before it begins, or find no place: its queue is woken up then.
func (m *model) caller(name string) {
	ways := []string{"", "is dropped", "finds no place"}
	if !m.own.shared {
		ways = ways[:2]
	}
	asked := func() bool { return len(m.own.asked) > 0 }
	m.Serves(name, sim.Labelf("next call of its own"), asked, func(p *sim.Proc) func(int) {
		return func(way int) {
			queue := m.own.asked[0]
			m.own.asked = m.own.asked[1:]
			p.Knows().Text(queue)
			switch way {
			case 0:
				m.Running++
				done := m.deliverer(p).Deliver(context.Background(), queue,
					m.reader(p, defaultConsumer, m.byItself), -1)
				m.Running--
				m.lost = m.lost || m.alarms != nil && done.Err != nil
			case 2:
				m.alarms.Set(queue+"/"+defaultConsumer, m.Now.Add(5*time.Second))
			}
			m.lost = m.lost || m.alarms != nil && (way == 1 || p.Dead()) // it is for the sweep
		}
	}, ways...)
}

// callOwn makes all calls that were asked for, where nothing goes wrong.
func (m *model) callOwn(d *delivery.Deliverer) {
	for len(m.own.asked) > 0 {
		queue := m.own.asked[0]
		m.own.asked = m.own.asked[1:]
		_ = d.Deliver(context.Background(), queue, m.reader(nil, defaultConsumer, m.byItself), -1)
	}
}

// called is a scenario with calls of their own. Message 1 of the queue was delivered, and the sink
// was slow.
func called(name string, faults int, actors ...func(*model)) sim.Scenario {
	begins := func(m *model) {
		m.bound.Apart, m.bound.Inline = true, time.Minute
		m.own = ownCalls{on: true, slow: defaultQueue, asked: []string{defaultQueue}}
		m.callOwn(m.deliverer(nil))
		m.settle()
	}
	return scenario(name, faults, 1, slices.Insert(actors, 0, begins)...)
}

// deadCall is one that claimed a message, and died.
func (m *model) deadCall() {
	m.arrive(cursor.Message{Queue: defaultQueue, Seq: 2})
	m.settle()
	c := m.consumers[reader{defaultQueue, defaultConsumer}]
	claim := request.Claim{Req: "dead", To: 2, Now: m.Now, LeaseUntil: m.Now.Add(lease)}
	_, _, err := consumers.On(m.view(nil)).Requests(request.Inside{}).
		Claim(context.Background(), c, claim)
	sim.Must(0, err)
	m.settle()
}

// asides are scenarios of queues that are delivered by calls of their own.
func asides() []sim.Scenario {
	return []sim.Scenario{
		called("a slow queue", 0, producer(2, 3), process("P"), caller("O")),
		called("a slow queue beside a good one", 0, func(m *model) {
			m.open(otherQueue)
			m.consumer(otherQueue, defaultConsumer)
			m.producer("A", defaultQueue, 2)
			m.producer("B", otherQueue, 1)
		}, process("P"), caller("O")),
		called("a slow queue, two processes and two calls at once", 0,
			producer(2, 3), process("P", "Q"), caller("O", "N")),
		called("a slow queue, 1 fault", 1, producer(2), process("P"), caller("O"), clock(1)),
		called("a slow queue, wake-ups at any time and the sweep", 0,
			producer(2), process("P"), caller("O"), timer(defaultConsumer), sweeper(1, false)),
		called("a slow queue and the timer alone, 1 fault", 1,
			timed, func(m *model) { m.certain = false }, producer(2), process("P"), caller("O")),
		called("a share that is used up, and the timer alone", 1,
			timed, func(m *model) { m.certain, m.own.shared = false, true }, producer(2, 3),
			process("P"), caller("O")),
		called("a call of its own that died, and the timer alone", 0,
			timed, func(m *model) { m.certain = false }, (*model).deadCall, producer(3), process("P"),
			caller("O"), clock(1)),
		called("a message that no endpoint takes, and the timer alone", 0,
			timed, func(m *model) { m.certain, m.own.slow, m.poison = false, "", 2 }, producer(2, 3),
			process("P"), caller("O"), clock(1)),
	}
}
