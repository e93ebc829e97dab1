// Package trackedsim plugs tracked delivery into the simulator, chain and claim
// together: its actors are the code of pkg/handoff and pkg/xorack on their
// stores in memory, and workers that do the work of what is delivered. Its model
// checks after every step that
//
//	D1 no message is committed before all the work of its tree was done
//	D2 a chain that is done has a claim that is committed, one that failed or
//	   timed out a claim that failed, and no claim ends while its chain is open
//	D3 a chain is created under a claim, and what is delivered has a chain that
//	   was created
//	D4 a chain is sealed only after its claim has ended, and after somebody
//	   woke the consumer up for what came meanwhile
//	D5 a chain times out only after its deadline, or where it was never created
//	D6 a batch that is delivered again has a higher token, or is of the claim
//	   that stands there
//	D7 a batch that was not delivered is not waited for once its lease is over
//	D8 a message that its handler refused for good, and said so, is not delivered
//	   again
//	D9 a sink that is away blocks nothing; once it is back each message is taken in its
//	   place, and once where nothing else goes wrong
//	L1 once faults stop, every message is delivered and committed, and no circuit is open
package trackedsim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// start is when every run begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// lease is that of a claim, track how long the work of a batch may take.
const (
	lease = 30 * time.Second
	track = 2 * time.Minute
)

const (
	queue    = "q"
	consumer = "c"
)

// model is the tables, the streams, the work, and what the invariants need to
// know.
type model struct {
	run    *sim.Run
	tables *consumers.Tables
	// chains are as no process sees them.
	chains *xorack.Store
	now    time.Time

	// depth is how many edges lie one under the other in a message's tree.
	depth int
	// batch is the most messages of a batch.
	batch int
	// apart is how far a clock is ahead at most.
	apart time.Duration
	// fails is how often workers may find that their work fails.
	fails int
	// certain is set where nobody is needed but the functions behind the streams, as
	// long as nothing fails.
	certain bool
	// poison is set when the handler refuses all messages for good; refused counts
	// how often it did.
	poison  bool
	refused int
	outage  outage

	// is is the consumer as it stood at the last look; made counts its makings.
	is   handoff.Consumer
	made int
	// records count what waits in the cursors' stream, a queue's one after the
	// other; tries how often each was handed out in vain.
	records []int
	// ends wait in the chains' stream.
	ends []end
	// work waits for workers.
	work []task
	// tags are all chains' tags in the order of their claims, claims what is known
	// of each.
	tags   []string
	claims map[string]*claim
	// edges are all edges that were delivered, in order; done those whose work
	// was done.
	edges []xorack.Edge
	done  map[xorack.Edge]bool
	// awake is set when somebody was notified of the consumer's queue since its last
	// claim ended.
	awake bool
}

// claim is what is known of a tracked claim.
type claim struct {
	consumer handoff.Consumer
	// outcome is how it ended; empty while it is in flight.
	outcome handoff.TokenOutcome
	// roots are the edges that were delivered.
	roots []xorack.Edge
	// again is set when the claim was made a second time: its request was repeated
	// by the SDK after the consumer had been removed and made anew. Its chain has
	// ended, so that nothing is delivered, and the next look fails the claim.
	again bool
}

// task is work that waits for a worker: an edge, how many edges may lie under
// it, and how often it was handed out in vain.
type task struct {
	edge  xorack.Edge
	under int
	tries int
}

// end is a record of the chains' stream that shows an end.
type end struct {
	chain xorack.Chain
	tries int
}

func newModel(run *sim.Run) *model {
	tables := consumers.NewTables(xorack.Names{}.Tables()...)
	return &model{
		run: run, tables: tables, chains: chainsOn(tables), now: start,
		depth: 1, batch: 1, claims: map[string]*claim{}, done: map[xorack.Edge]bool{},
	}
}

// deliverer is a process on its view of the tables, with a clock that is off by
// skew. p is nil for one on the tables themselves.
func (m *model) deliverer(p *sim.Proc, skew time.Duration) (*handoff.Deliverer, *xorack.Acker) {
	m.apart = max(m.apart, skew)
	now := func() time.Time {
		at := m.now.Add(skew)
		p.Knows().Int(at.Unix())
		return at
	}
	sorter, err := cursor.New(simdb.Queues(m.queueView(p)), &cursor.Options{ForEach: fanout.OneByOne, Now: now, KeepForever: true})
	if err != nil {
		panic(err) // unreachable: no option is out of its bounds
	}
	acker, err := xorack.New(m.chainView(p), &xorack.Options{ForEach: fanout.OneByOne, Now: now})
	if err != nil {
		panic(err) // unreachable: as above
	}
	d, err := handoff.New(m.view(p), sorter, &handoff.Options{
		ForEach: fanout.OneByOne,
		Lease:   lease, Margin: time.Second, Now: now, Acker: acker,
		// The number and the process distinguish a consumer's claims, its making
		// those of one that was removed.
		NewReq: func() string { return fmt.Sprintf("%s.%d", p.Name(), m.made) },
	})
	if err != nil {
		panic(err) // unreachable: as above
	}
	return d, acker
}

// open makes the queue with its messages, and the consumer, before the run.
func (m *model) open(messages int64) {
	ctx := context.Background()
	d, _ := m.deliverer(nil, 0)
	_, _ = m.tables.Queues.Requests(queuelog.Inside{}).CreateCursor(ctx, cursor.Cursor{
		Queue: queue, Settings: cursor.DefaultSettings(), Announced: -1, MovedAt: m.now, Notified: m.now,
	})
	for seq := int64(1); seq <= messages; seq++ {
		m.arrive(seq)
	}
	if _, err := d.Create(ctx, queue, consumer, handoff.First); err != nil {
		panic(err) // unreachable: the names are right
	}
	m.is, m.records = m.standing(), []int{0}
}

// arrive stores a message and moves the cursor over it.
func (m *model) arrive(seq int64) {
	ctx := context.Background()
	_, _ = m.tables.Queues.Requests(queuelog.Inside{}).PutMessage(ctx, cursor.Message{Queue: queue, Seq: seq, Body: fmt.Append(nil, seq), EnqueuedAt: m.now})
	_, _, _ = m.tables.Queues.Requests(queuelog.Inside{}).Move(ctx, queue, cursor.Range{From: seq - 1, To: seq}, seq-1, m.now)
	m.records, m.awake = append(m.records, 0), true
}

func (m *model) standing() handoff.Consumer {
	c, _ := m.tables.Consumers.Consumer(context.Background(), queue, consumer)
	return c
}

func (m *model) cursor() cursor.Cursor {
	c, _ := m.tables.Queues.Requests(queuelog.Inside{}).Cursor(context.Background(), queue, true)
	return c
}

func (m *model) chain(tag string) xorack.Chain {
	c, _ := m.chains.Chain(context.Background(), tag)
	return c
}

// Check implements [sim.Model]: the writes check what they change.
func (m *model) Check() error { return nil }

// patience is how many rounds of all that goes on are needed in the end.
const patience = 40

// Final implements [sim.Model]. From here on nothing goes wrong, all work is
// done, time passes, and the sweeps run. What was blocked is redriven.
func (m *model) Final() error {
	if c := m.standing(); m.certain && !m.run.Failed() && (c.State != handoff.Idle || c.Delivered != m.cursor().Position) {
		return fmt.Errorf("L1: nothing failed, and the consumer is %s at %d of %d", c.State, c.Delivered, m.cursor().Position)
	}
	ctx := context.Background()
	d, acker := m.deliverer(nil, 0)
	m.fails, m.poison, m.outage.away = 0, false, false
	for range patience {
		m.now = m.now.Add(10 * time.Minute)
		if _, err := acker.Sweep(ctx, xorack.SweepOptions{Announce: d.Ender(nil)}); err != nil {
			return fmt.Errorf("the last sweep of chains: %w", err)
		}
		if _, err := d.Sweep(ctx, handoff.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: attempts}); err != nil {
			return fmt.Errorf("the last sweep: %w", err)
		}
		if c := m.standing(); c.State == handoff.Blocked {
			if _, err := d.Redrive(ctx, handoff.Order{Queue: queue, Consumer: consumer, Reason: "the end"}, c.Delivered+1); err != nil {
				return fmt.Errorf("the last operator: %w", err)
			}
		}
		if done := d.Deliver(ctx, queue, m.reader(nil), -1); done.Err != nil {
			return fmt.Errorf("the last delivery: %w", done.Err)
		}
		for len(m.work) > 0 {
			at := m.work[0]
			m.work = m.work[1:]
			if err := m.works(nil, acker, at); err != nil {
				return fmt.Errorf("the last work: %w", err)
			}
		}
		if m.run.Err() != nil {
			return m.run.Err()
		}
		left := m.back(d)
		if c := m.standing(); c.State == handoff.Idle && c.Delivered == m.cursor().Position && m.allSealed() && left == nil {
			return nil
		}
	}
	if err := m.back(d); err != nil {
		return err
	}
	c := m.standing()
	return fmt.Errorf("L1: the consumer is %s at %d of %d in the end, or a chain is not sealed", c.State, c.Delivered, m.cursor().Position)
}

// allSealed reports whether nothing is left to do for any chain.
func (m *model) allSealed() bool {
	for _, tag := range m.tags {
		if c := m.chain(tag); c.Exists() && !c.Sealed() {
			return false
		}
	}
	return true
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.now.Unix())
	if m.tables.Past != nil {
		d.Bool(m.run.Failed())
		m.tables.Past.Snapshot(d)
	}
	hashCursor(d, m.cursor())
	consumers.Hash(d, m.standing())
	m.tables.HashHealth(d, consumer)
	d.Int(int64(m.made))
	d.Int(int64(m.fails))
	d.Int(int64(m.refused))
	m.outage.hash(d, m.cursor().Position)
	d.Bool(m.awake)
	d.Int(int64(len(m.records)))
	for _, tries := range m.records {
		d.Int(int64(tries))
	}
	d.Int(int64(len(m.ends)))
	for _, e := range m.ends {
		d.Text(e.chain.Tag)
		d.Int(int64(e.tries))
	}
	d.Int(int64(len(m.work)))
	for _, t := range m.work {
		d.Text(t.edge.String())
		d.Int(int64(t.under))
		d.Int(int64(t.tries))
	}
	d.Int(int64(len(m.tags)))
	for _, tag := range m.tags {
		d.Text(tag)
		d.Text(string(m.claims[tag].outcome))
		d.Int(int64(len(m.claims[tag].roots)))
		d.Bool(m.claims[tag].again)
		hashChain(d, m.chain(tag))
	}
	for _, e := range m.edges {
		d.Bool(m.done[e])
	}
}
