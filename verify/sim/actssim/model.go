// Package actssim plugs batches of acts into the simulator: internal/acts on the tables of
// pkg/handoff, carried out by the sweep's rounds and by wake-ups of the timer side by side, while an operator
// starts and stops them, and consumers leave the state or come into it. Its model checks after every
// step that
//
//	B1 a consumer is acted on once at most, however many carry a batch out
//	B2 who left the state, or came into it after the look, is not acted on
//	B3 nobody is acted on before the batch is started, nor beyond one page more once it was stopped
//
// and in the end that
//
//	B4 every batch is over, and the sweep has no more to do with it
//	B5 it counts those that it acted on, and each of the others that it came upon once
//	B6 each that was selected was acted on, unless it left the state, or the batch was stopped
//	B7 each act that was done is on record as done, and no other
package actssim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

const (
	consumer = "c"
	// overLease is longer than the lease of a batch, aTurn than a turn at it.
	overLease, aTurn = 31 * time.Second, 6 * time.Second
	// another is a queue that nobody has blocked when a batch is looked at.
	another = "z"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	names = handoff.Names{Trouble: trouble.DefaultName}
	// operator is who asks for batches.
	operator = handoff.Who{Kind: handoff.WhoDirect}
)

// model is the tables, and what the invariants need to know.
type model struct {
	run    *sim.Run
	tables *ddb.Memory
	now    time.Time
	ask    acts.Ask
	// queues are those whose consumer is blocked in the beginning.
	queues []string
	// id names the batch, once it was looked at.
	id acts.ID
	// left are the queues whose consumer an operator helped, acted how often the batch did something to
	// one's.
	left  map[string]bool
	acted map[string]int
	// pages is how many pages were begun since the batch was stopped.
	pages int
	// strays tells that a write may arrive late: only then must a process's names differ, which called counts.
	strays bool
	called map[string]int
}

func newModel(run *sim.Run, queues int, ask acts.Ask) *model {
	m := &model{
		run: run, now: start, ask: ask, left: map[string]bool{}, acted: map[string]int{}, called: map[string]int{},
		tables: ddb.NewMemory(append(append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable()), names.Tables()...)...),
	}
	m.ask.Reason, m.ask.Who = "the sink is back", operator
	for i := range queues {
		m.queues = append(m.queues, string(rune('a'+i)))
	}
	_, sorter := m.process(nil)
	for _, queue := range append(slices.Clone(m.queues), another) {
		_, err := sorter.Put(context.Background(), cursor.Message{Queue: queue, Seq: 1})
		m.must(err)
	}
	for _, queue := range m.queues {
		m.block(queue)
	}
	m.now = m.now.Add(time.Second)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		panic(err) // unreachable: nothing goes wrong where no actor asks
	}
}

// process is one that has just begun; p is nil for one whose requests are no points.
func (m *model) process(p *sim.Proc) (*handoff.Deliverer, *cursor.Sorter) {
	now := func() time.Time {
		p.Knows().Int(m.now.UnixMilli()) // by no request
		return m.now
	}
	view := m.view(p)
	sorter, err := cursor.New(simdb.Queues(view), &cursor.Options{ForEach: fanout.OneByOne, Now: now, KeepForever: true})
	m.must(err)
	d, err := handoff.New(record.NewStore(view, names.Tables()), sorter, &handoff.Options{ForEach: fanout.OneByOne, Now: now, NewReq: p.Name})
	m.must(err)
	return d, sorter
}

// desk is a process's that has to do with batches.
func (m *model) desk(p *sim.Proc) *acts.Desk {
	deliverer, _ := m.process(p)
	d := acts.New(deliverer)
	d.ForEach = fanout.OneByOne
	d.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	d.NewName = func() string {
		if m.strays {
			m.called[p.Name()]++
			p.Knows().Int(int64(m.called[p.Name()]))
		}
		return fmt.Sprintf("%016d%s", m.called[p.Name()], p.Name())
	}
	return d
}

// block has a queue's consumer blocked: its sink refuses the message.
func (m *model) block(queue string) {
	d, _ := m.process(nil)
	done := d.Deliver(context.Background(), queue, handoff.Reader{
		Name: consumer, Circuit: handoff.Circuit{Off: true},
		Handle: func(context.Context, handoff.Batch) error { return handoff.Permanent(errors.New("no")) },
	}, -1)
	if m.must(done.Err); done.Ended != handoff.EndedBlocked {
		panic(fmt.Sprintf("%s ended as %s", queue, done.Ended)) // unreachable: what is refused for good blocks at once
	}
}

// batch is the batch as it stands; the zero Batch before the look, and where it was dropped.
func (m *model) batch() acts.Batch {
	if m.id == (acts.ID{}) {
		return acts.Batch{}
	}
	b, err := acts.NewStore(m.tables, names.Tables()[1]).Read(context.Background(), m.id)
	m.must(err)
	return b
}

// open reports whether the sweep knows of a batch.
func (m *model) open() bool {
	open, _, err := acts.NewStore(m.tables, names.Tables()[1]).Opened(context.Background(), acts.ID{})
	m.must(err)
	return len(open) > 0
}

// due reports whether somebody may go on with the batch.
func (m *model) due() bool {
	b := m.batch()
	going := b.State == acts.Running || b.State == acts.Stopping
	return going && !b.LeaseUntil.After(m.now) || b.State == acts.Stopped || b.State == acts.Done
}

// Check implements [sim.Model]: what is wrong is seen by who writes it.
func (m *model) Check() error { return nil }

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.now.UnixMilli())
	m.tables.Snapshot(d)
	d.Int(int64(m.pages))
	var sum int64
	for queue := range m.left {
		var one sim.Digest
		one.Text(queue)
		sum += one.Sum() // the order of a map is none
	}
	d.Int(sum)
}
