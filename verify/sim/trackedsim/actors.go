package trackedsim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// attempts is how often a message is tried, retries how often a record or a task
// is handed out.
const (
	attempts = 3
	retries  = 2
)

// errSink is what a handler says that could not deliver.
var errSink = errors.New("the sink is away")

// reader is the consumer, tracked. What it delivers goes to the workers; where a
// fault comes it may have been delivered, and the handler fails all the same.
func (m *model) reader(p *sim.Proc) handoff.Reader {
	return handoff.Reader{
		Name: consumer, Track: track, MaxMessages: m.batch, MaxAttempts: m.attempts(), BlockAfter: time.Second, Circuit: handoff.Circuit{Queues: 2},
		Handle: func(_ context.Context, b handoff.Batch) error {
			if m.poison {
				if m.refused++; m.refused > 1 {
					m.run.Violation("D8: %d to %d come under %v, and were refused for good", b.From, b.To, b.Token)
				}
				return handoff.Permanent(errSink)
			}
			if m.isAway(p) {
				return errSink
			}
			_, err := sim.Do(p, sim.Labelf("deliver %d to %d under %v", b.From, b.To, b.Token), true, func() (bool, error) {
				if wrong := cmp.Or(m.handed(b), m.takes(b)); wrong != nil {
					m.run.Violation("%w", wrong)
				}
				return true, nil
			})
			if err != nil {
				return errors.Join(errSink, err)
			}
			return nil
		},
	}
}

// event is a record of the cursors' stream over nothing, as a notification makes it.
func (m *model) event() table.StreamEvent {
	cur := m.cursor()
	image := fmt.Sprintf(`{"queue":{"S":%q},"v":{"N":"1"},"first":{"N":"1"},"position":{"N":"%d"},"parked":{"N":"0"},"gapSince":{"N":"0"},`+
		`"change":{"S":"advance"},"policy":{"S":"wait"},"gapAfter":{"N":"300000"},"maxAhead":{"N":"100000"},"mode":{"S":"sync"}}`, queue, cur.Position)
	var e table.StreamEvent
	e.Records = []json.RawMessage{json.RawMessage(
		`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"0","OldImage":` + image + `,"NewImage":` + image + `}}`)}
	return e
}

// onStream is a process behind the cursors' stream that has just begun.
func (m *model) onStream(p *sim.Proc, skew time.Duration) func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error) {
	d, _ := m.deliverer(p, skew)
	handle, err := handoff.OnStream(d, cursor.Names{}, m.reader(p))
	if err != nil {
		panic(err) // unreachable: the reader is in its bounds
	}
	return handle
}

// process is the function behind the cursors' stream. The stream may drop a
// record or hand it out again; the process may die, and another takes its place.
func (m *model) process(name string, skew time.Duration) {
	m.run.Daemon(name, func(p *sim.Proc) {
		handle := m.onStream(p, skew)
		for {
			p.Forget()
			way := p.Choose(sim.Labelf("next record"), func() bool { return len(m.records) > 0 }, "", "dropped", "handed out twice")
			if way < 0 {
				return
			}
			if m.outage.shown {
				handle = m.onStream(p, skew) // what one keeps of the sink is no part of its state
			}
			tries := m.records[0]
			if way < 2 {
				m.records = m.records[1:]
			}
			if way == 1 {
				continue
			}
			e := m.event()
			p.Knows().Int(m.cursor().Position)
			response, err := handle(context.Background(), e)
			if err != nil && !p.Dead() {
				m.run.Violation("a record that is right was refused: %v", err)
			}
			if way == 0 && tries+1 < retries && (p.Dead() || len(response.BatchItemFailures) > 0) {
				m.records = append([]int{tries + 1}, m.records...)
			}
			if p.Dead() {
				return
			}
		}
	})
}

// ender is the function behind the chains' stream, with the same faults.
func (m *model) ender(name string) {
	m.run.Daemon(name, func(p *sim.Proc) {
		d, acker := m.deliverer(p, 0)
		for {
			p.Forget()
			way := p.Choose(sim.Labelf("next end"), func() bool { return len(m.ends) > 0 }, "", "dropped", "handed out twice")
			if way < 0 {
				return
			}
			at := m.ends[0]
			if way < 2 {
				m.ends = m.ends[1:]
			}
			if way == 1 {
				continue
			}
			hashChain(p.Knows(), at.chain)
			p.Knows().Text(at.chain.Tag)
			_, err := acker.Finish(context.Background(), at.chain, d.Ender(nil))
			if at.tries++; way == 0 && at.tries < retries && (p.Dead() || err != nil) {
				m.ends = append([]end{at}, m.ends...)
			}
			if p.Dead() {
				return
			}
		}
	})
}

// worker does the work of edges. A task may come twice, be lost, or fail for
// good; the worker may die, and the task comes again.
func (m *model) worker(name string) {
	m.run.Daemon(name, func(p *sim.Proc) {
		_, acker := m.deliverer(p, 0)
		for {
			p.Forget()
			way := p.Choose(sim.Labelf("next task"), func() bool { return len(m.work) > 0 }, "", "lost", "handed out twice")
			if way < 0 {
				return
			}
			at := m.work[0]
			if way < 2 {
				m.work = m.work[1:]
			}
			if way == 1 {
				continue
			}
			p.Knows().Text(at.edge.String())
			p.Knows().Int(int64(at.under))
			err := m.works(p, acker, at)
			if at.tries++; way == 0 && at.tries < retries && (p.Dead() || err != nil) {
				m.work = append(m.work, at)
			}
			if p.Dead() {
				return
			}
		}
	})
}

// works does the work of an edge, says so, and passes on the work that follows.
func (m *model) works(p *sim.Proc, acker *xorack.Acker, at task) error {
	if m.fails > 0 {
		m.fails--
		_, err := acker.Fail(context.Background(), at.edge, "no")
		return err
	}
	m.done[at.edge] = true
	var children []xorack.Edge
	if at.under > 0 {
		children = at.edge.Children(1)
	}
	r, err := acker.Done(context.Background(), at.edge, children...)
	if err != nil || p.Dead() || r.Chain.End() != xorack.Open {
		return err
	}
	for _, e := range children {
		m.work = append(m.work, task{edge: e, under: at.under - 1})
	}
	return nil
}

// extender extends the chain of whatever was delivered, once.
func (m *model) extender(by time.Duration) {
	m.run.Go("extender", func(p *sim.Proc) {
		_, acker := m.deliverer(p, 0)
		if p.Choose(sim.Labelf("extend"), func() bool { return len(m.edges) > 0 }, "") < 0 {
			return
		}
		_, _ = acker.Extend(context.Background(), m.edges[len(m.edges)-1], m.now.Add(by))
	})
}

// sweeper runs both sweeps a number of times.
func (m *model) sweeper(times int) {
	m.run.Go("sweep", func(p *sim.Proc) {
		d, acker := m.deliverer(p, 0)
		for i := range times {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("sweep"), nil, "") < 0 {
				return
			}
			_, _ = d.Sweep(context.Background(), handoff.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: attempts})
			_, _ = acker.Sweep(context.Background(), xorack.SweepOptions{Announce: d.Ender(nil)})
			if p.Dead() {
				return
			}
		}
	})
}

// clock lets time pass, at any moments.
func (m *model) clock(steps ...time.Duration) { m.run.Clock(&m.now, nil, steps...) }

// producer lets messages arrive.
func (m *model) producer(seqs ...int64) {
	m.run.Go("producer", func(p *sim.Proc) {
		for i, seq := range seqs {
			p.Forget().Int(int64(i))
			if p.Choose(sim.Labelf("%d arrives", seq), nil, "") < 0 {
				return
			}
			m.arrive(seq)
		}
	})
}

// remaker removes the consumer, and makes it anew where it began.
func (m *model) remaker() {
	m.run.Go("remaker", func(p *sim.Proc) {
		d, _ := m.deliverer(nil, 0)
		free := func() bool { c := m.standing(); return c.State == handoff.Idle && c.Token.N > 0 }
		if p.Choose(sim.Labelf("remove and make anew"), free, "") < 0 {
			return
		}
		ctx := context.Background()
		_, err := d.Remove(ctx, handoff.Order{Queue: queue, Consumer: consumer, Reason: "why", Op: "remove"})
		if err == nil {
			_, err = d.Create(ctx, queue, consumer, handoff.First)
		}
		if err != nil {
			m.run.Violation("what an operator may do was refused: %v", err)
		}
		m.is, m.records, m.awake = m.standing(), append(m.records, 0), true
	})
}
