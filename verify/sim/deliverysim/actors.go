package deliverysim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

const (
	defaultQueue    = "q"
	defaultConsumer = "c"
)

// producer lets messages arrive one by one; a negative seq is that of a tombstone.
func (m *model) producer(name, queue string, seqs ...int64) {
	m.Turns(name, len(seqs), sim.Labelf("one of %v arrives", seqs), nil, func(*sim.Proc) func(int) {
		return func(i int) {
			message := cursor.Message{Queue: queue, Seq: max(seqs[i], -seqs[i])}
			if seqs[i] < 0 {
				message.Tombstone = "skipped"
			}
			m.arrive(message)
		}
	})
}

// slowClock lets so much time pass that the longest operations but a creator's are shorter.
func (m *model) slowClock(times int, step time.Duration) {
	ready := func() bool { return m.Running+m.notifying == 0 }
	m.Turns("clock", times, sim.Labelf("%v pass", step), ready, func(*sim.Proc) func(int) {
		return func(int) {
			m.Now = m.Now.Add(step)
			m.expire()
		}
	})
}

// handle is the function behind the cursors' stream.
type handle = func(context.Context, table.StreamEvent) ([]int, error)

func (m *model) handler(p *sim.Proc, d *delivery.Deliverer) handle {
	var readers []delivery.Reader
	for _, name := range m.names() {
		readers = append(readers, m.reader(p, name, m.beside))
	}
	handle := sim.Must(delivery.OnStream(d, cursor.Names{}, readers...))
	return func(ctx context.Context, e table.StreamEvent) ([]int, error) {
		response, err := handle(ctx, e)
		if p == nil {
			m.callOwn(d) // nobody else does
		}
		var failed []int
		for _, item := range response.BatchItemFailures {
			index, wrong := strconv.Atoi(item.ItemIdentifier)
			err = errors.Join(err, wrong)
			failed = append(failed, index)
		}
		return failed, err
	}
}

// reader is a reader whose sink takes its batches. seen gets each before it comes there.
func (m *model) reader(p *sim.Proc, name string, seen func(delivery.Batch)) delivery.Reader {
	r := m.bound
	r.Name = name
	r.Handle = func(_ context.Context, b delivery.Batch) error {
		seen(b)
		answer, err := sim.Do(p, sim.Labelf("hand on %s %d to %d under %v", b.Queue, b.From, b.To,
			b.Token), true, func() (bool, error) {
			err := m.take(b)
			if err == nil {
				m.handed(b)
			}
			return err == nil, err
		})
		p.Knows().Bool(answer)
		if err == nil && m.work != nil && m.work.depth == 0 && len(b.Messages) > 0 {
			err = b.Defer(track)
		}
		return err
	}
	return r
}

// retries is how often the event source mapping hands a record out.
const retries = 2

// process starts functions behind the cursors' stream: each takes all records that wait, as one
// event. The stream may drop a record or hand the event out again to the next that asks; the
// process may die, and another takes its place. Several processes share the stream: a record that
// one has taken no other gets. One that is warm goes on with what it remembers.
func (m *model) process(names ...string) {
	m.streamed = true
	m.handlers += len(names)
	ready := func() bool { return len(m.records) > 0 }
	for _, name := range names {
		m.Serves(name, sim.Labelf("next event"), ready, func(p *sim.Proc) func(int) {
			var handle handle
			return func(way int) {
				if way == 1 {
					m.records, m.lost = m.records[1:], m.alarms != nil
					return
				}
				if handle == nil || !m.Warm[name] {
					handle = m.handler(p, m.deliverer(p))
				}
				m.event(p, handle, way == 0)
			}
		}, "", "drops a record", "hands it out twice")
	}
}

// event has a process take the records that wait; once where they are not handed out again.
func (m *model) event(p *sim.Proc, handle handle, once bool) {
	taken := slices.Clone(m.records)
	for _, r := range taken {
		r.hash(p.Knows())
	}
	if once {
		m.records = nil
	}
	m.Running++
	p.Invoke()
	failed, err := handle(context.Background(), event(taken))
	m.Running--
	switch {
	case err != nil:
		m.Run.Violation("an event that is right was refused: %v", err)
	case p.Dead():
		failed = []int{0}
	}
	if once && len(failed) > 0 {
		m.again(taken[failed[0]:])
	}
}

// again hands records out again, unless that was done often enough.
func (m *model) again(failed []record) {
	var left []record
	for _, r := range failed {
		switch r.tries++; {
		case r.tries < retries:
			left = append(left, r)
		case m.alarms != nil:
			m.late = append(m.late, r)
		}
	}
	m.records = append(left, m.records...)
}

// sweeper runs the sweep a number of times; deleting says that it deletes what all are past.
func (m *model) sweeper(times int, deleting bool) {
	m.Turns("sweep", times, sim.Labelf("sweep"), nil, func(p *sim.Proc) func(int) {
		d := m.deliverer(p)
		return func(int) {
			// What fails is for the next run.
			_, _ = d.Sweep(context.Background(), delivery.SweepOptions{
				Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: attempts, Delete: deleting,
			})
			_ = m.sweepChains(context.Background(), d, m.acker(p))
		}
	})
}

// timer wakes a consumer up a number of times, each at any moment: a wake-up that comes too early
// or too late, twice, or not at all, and one for a consumer that nobody knows.
func (m *model) timer(consumers ...string) {
	m.Turns("timer", len(consumers), sim.Labelf("wake one of %v", consumers), nil,
		func(p *sim.Proc) func(int) {
			d := m.deliverer(p)
			return func(i int) {
				if _, _, err := d.Wake(context.Background(), defaultQueue, consumers[i],
					delivery.SweepOptions{MaxAttempts: attempts}); err != nil {
					m.lost = m.alarms != nil // what fails is for the sweep
				}
			}
		})
}

// keeper keeps what is not delivered from expiring, as the sorter's sweep does in each quarter of
// the retention, and lets that time pass.
func (m *model) keeper(periods int) {
	ready := func() bool { return m.Running == 0 }
	m.Turns("keeper", periods, sim.Labelf("%v pass", m.keep/4), ready, func(p *sim.Proc) func(int) {
		d, s := m.deliverer(p), m.sorter(p)
		return func(int) {
			m.Now = m.Now.Add(m.keep / 4)
			m.expire()
			for !p.Dead() && m.keepOnce(p, d, s) != nil {
				continue // one that fails is run again, in time
			}
		}
	})
}

func (m *model) keepOnce(p *sim.Proc, d *delivery.Deliverer, s *cursor.Sorter) error {
	ctx := context.Background()
	it, err := s.Status(ctx, defaultQueue)
	if err != nil {
		return err
	}
	after := it.Position
	seq, some, err := d.Inside(request.Inside{}).Delivered(ctx, defaultQueue)
	if err != nil {
		return err
	}
	if some {
		after = min(after, seq)
	}
	return world.KeepUndelivered(s, defaultQueue, after)
}

// creator makes the consumer d at the first message, and tries again where that failed, and where
// its turn was over before the start was.
func (m *model) creator() {
	m.Run.Go("creator of d", func(p *sim.Proc) {
		d := m.deliverer(p)
		for failed := 0; failed < 2; {
			made, err := d.Create(context.Background(), defaultQueue, "d", delivery.First)
			switch {
			case p.Dead() || err == nil && made.Starting == "":
				m.checkStart(p, made)
				return
			case err != nil:
				failed++
			}
		}
	})
}

func (m *model) checkStart(p *sim.Proc, made delivery.Consumer) {
	if p.Dead() {
		return
	}
	oldest := int64(1)
	for ; oldest <= made.Delivered; oldest++ {
		if _, there := m.message(defaultQueue, oldest); there {
			break
		}
	}
	if oldest <= made.Delivered && oldest > m.cursor(defaultQueue).Floor {
		m.Run.Violation("it starts behind %d, and %d is the oldest", made.Delivered, oldest)
	}
}

type operation struct {
	kind  string
	seq   int64
	start delivery.Start
}

// operator does one after the other, and each again, under the same name, where it failed.
func (m *model) operator(name string, operations ...operation) {
	m.Turns(name, len(operations), sim.Labelf("asks for the next of %v", operations), nil,
		func(p *sim.Proc) func(int) {
			d := m.deliverer(p)
			return func(i int) {
				op := fmt.Sprint(name, " ", i)
				m.orders[op] = order{operations[i].kind, operations[i].seq}
				if err := m.operation(d, operations[i], op); err != nil && !p.Dead() {
					_ = m.operation(d, operations[i], op)
				}
			}
		})
}

func (m *model) operation(d *delivery.Deliverer, o operation, op string) error {
	ctx := context.Background()
	_, err := d.Operate(ctx, delivery.Order{
		Kind: o.kind, Queue: defaultQueue, Consumer: defaultConsumer, Seq: o.seq, Start: o.start,
		Reason: "why", Op: op,
	})
	var invalid *cursor.InvalidError
	var refused *delivery.RefusedError
	switch {
	case errors.As(err, &refused) && (refused.Code == "not-blocked" || refused.Code == "claimed"),
		errors.As(err, &invalid):
		return nil // that is an answer
	}
	return err
}

func expiring(last int64) func(*model) {
	return func(m *model) {
		m.keep = cursor.MinRetention
		for seq := range last {
			m.arrive(cursor.Message{Queue: defaultQueue, Seq: seq + 1})
		}
		m.settle()
	}
}

func (m *model) expire() {
	m.tables.Expire(m.Now)
	m.Changed = true
}
