// Package deliverysim plugs pkg/delivery into the simulator: its actors are the package's own code
// on [delivery.Store] and [cursor.Store], and its model checks after every step that
//
//	H1 a consumer moves only along the arrows of its state machine
//	H2 at most one token is good: a claim is ended by its own token, or after
//	   its lease
//	H3 what is committed was delivered under that claim
//	H4 what became of a token never changes
//	H6 nothing vanishes: Delivered rises only over what was delivered, skipped
//	   by an operator, or announced as lost
//	N2 a sink that is away blocks nothing, where a scenario says so, and needs nobody when it is
//	   back; a bad message beside others that are taken is blocked, and alone
//	N3 who knows that the circuit of a sink is open makes one claim for each probe, and no other;
//	   it is closed once the sink has taken everything
//	S3 a sink that refuses lower tokens gets each queue in order, without a
//	   hole, as it was accepted
//	A  a queue that is known to be slow, or to fail, is delivered by isolated invocations alone
//	W  where a reader has a window, nothing but a full batch is claimed before it is over
//	D1 what is deferred was handed over, and is committed only when its work was done
//	D2 a chain is created under a claim, what is handed over has a chain that was created, and
//	   what is committed has one that is done
//	D3 a chain is sealed only after its claim has ended, and after somebody was notified of what
//	   came meanwhile
//	D4 a chain times out only after its deadline
//	L1 once faults stop, every accepted message is delivered
//
// and, where messages expire or are deleted, that no reader finds a hole.
package deliverysim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// lease is that of a claim, attempts how often a message is tried.
const (
	lease    = 30 * time.Second
	attempts = 2
)

// reader is a named consumer of a queue.
type reader struct{ queue, name string }

// record is a record of the cursors' stream; older is the zero Cursor where the write made it.
type record struct {
	older, newer cursor.Cursor
	// tries is how often it was handed out in vain.
	tries int
}

func (r record) hash(d *sim.Digest) {
	sim.Feed(d, r.newer.Queue, r.newer.Position, r.tries)
}

// event is the records as Lambda hands them out, with their indexes for their sequence numbers.
func event(records []record) table.StreamEvent {
	var e table.StreamEvent
	for i, r := range records {
		e.Records = append(e.Records, simdb.Record(i, r.older, r.newer))
	}
	return e
}

// model is the tables, the stream, the sinks and all that the invariants need to know.
type model struct {
	*world.World
	tables *consumers.Tables
	// keep is how long messages are kept; 0 means for ever.
	keep time.Duration

	// cursors and consumers are what stood there at the last Check; readers are the consumers in
	// the order of their making.
	cursors   map[string]cursor.Cursor
	consumers map[reader]delivery.Consumer
	readers   []reader
	sinks     map[reader]*sink
	// records wait in the cursors' stream, where somebody stands behind it.
	records  []record
	streamed bool
	// handlers is how many processes stand behind it.
	handlers int
	// certain is true where nothing goes wrong: then nothing needs the sweep.
	certain bool
	// careless sinks take batches of lower tokens.
	careless bool
	// poison is a seq of the queue poisoned that no sink takes; 0 for none. permanent says that
	// they say so. Where all queues had one, nobody could tell that from a sink that is away.
	poison    int64
	poisoned  string
	permanent bool
	// parts: sinks take what is before the poison, and say so.
	parts bool
	// outage is that of the sink.
	outage outage
	// never is an outcome that no claim must have.
	never delivery.TokenOutcome
	// orders are what operators asked for, by their Op; done counts what came of each.
	orders map[string]order
	done   map[string]int
	// announced are the consumers that the last sweep announced as blocked.
	announced map[reader]bool
	// bound has the bounds of the readers that stand behind the stream.
	bound delivery.Reader
	// own are the calls that deliver one queue.
	own ownCalls
	// work is what goes on of deferred batches; nil where none are.
	work *work
	// slow is true where an operation may take hours and then end for ever: only the sweep of all
	// queues finds what it leaves.
	slow bool
	// alarms are the wake-ups that deliverers asked for, where the timer has to be enough; nil
	// elsewhere. late are the records that are still to come again then, lost tells that one was
	// dropped, or that a wake-up failed.
	alarms sim.Alarms
	late   []record
	lost   bool
	// notifying counts notifications under way: one bears the time at which it was sent, and no
	// server takes a request that is old.
	notifying int
}

func newModel(run *sim.Run) *model {
	tables := consumers.NewTables(xorack.Names{}.Tables()...)
	return &model{
		World: tables.World(run), tables: tables, cursors: map[string]cursor.Cursor{},
		consumers: map[reader]delivery.Consumer{},
		sinks:     map[reader]*sink{}, orders: map[string]order{}, done: map[string]int{},
		announced: map[reader]bool{},
		poisoned:  defaultQueue, outage: outage{knows: map[knower]circuit{}},
		bound: delivery.Reader{MaxMessages: 2, MaxAttempts: attempts, BlockAfter: time.Second},
	}
}

// sorter is a process on its view of the tables. p is nil for one on the tables themselves.
func (m *model) sorter(p *sim.Proc) *cursor.Sorter {
	return sim.Must(cursor.New(simdb.Queues(m.view(p)), &cursor.Options{
		ForEach: fanout.OneByOne, Now: m.Clock(p), Retention: m.keep, KeepForever: m.keep == 0,
	}))
}

func (m *model) deliverer(p *sim.Proc) *delivery.Deliverer {
	return sim.Must(delivery.New(consumers.On(m.view(p)), m.sorter(p), &delivery.Options{
		ForEach: fanout.OneByOne,
		Lease:   lease, Margin: time.Second, Now: m.Clock(p),
		// A token's number and the process tell its claims apart: a process that asks again does so
		// under another number, or was not heard.
		NewReq: func() string { return m.reqOf(p) },
		Acker:  m.acker(p),
		Aside:  m.aside(p),
		WakeUp: func(queue, consumer string, due time.Time) { m.alarms.Set(queue+"/"+consumer, due) },
	}))
}

// reqOf names a process's requests. A consumer that was recreated has tokens of other names.
func (m *model) reqOf(p *sim.Proc) string {
	if m.work == nil || m.work.made == 0 {
		return p.Name()
	}
	return fmt.Sprint(p.Name(), m.work.made)
}

// open makes a queue before the run.
func (m *model) open(queue string, messages ...cursor.Message) {
	sim.Must(m.sorter(nil).Configure(context.Background(), queue, cursor.Change{}))
	for _, message := range messages {
		m.arrive(message)
	}
	m.settle()
}

// settle is Check before the run.
func (m *model) settle() {
	m.Changed = true
	sim.Must(0, m.Check())
	m.records = nil
}

func (m *model) consumer(queue, name string) {
	sim.Must(m.deliverer(nil).Create(context.Background(), queue, name, delivery.First))
	m.settle()
}

// caughtUp delivers all that is there before the run.
func (m *model) caughtUp() {
	handle := m.handler(nil, m.deliverer(nil))
	m.hinted()
	sim.Must(handle(context.Background(), event(m.records)))
	m.settle()
}

// quiet lets a long time pass before the run, in which the sweep sees that there is nothing to do.
func (m *model) quiet() {
	d := m.deliverer(nil)
	for range 3 {
		m.Now = m.Now.Add(time.Hour)
		sim.Must(0, m.sweep(context.Background(), d))
	}
	m.settle()
}

// hinted puts a record of each queue into the stream, before the run.
func (m *model) hinted() {
	for _, queue := range m.QueueNames() {
		m.records = append(m.records, record{newer: m.cursor(queue)})
	}
}

// arrive stores a message, and moves its queue's cursor over it.
func (m *model) arrive(message cursor.Message) {
	ctx := context.Background()
	if message.Tombstone == "" {
		message.Body = body(message.Queue, message.Seq)
	}
	message.EnqueuedAt = m.Now
	if m.keep > 0 {
		message.ExpiresOn = m.Now.Add(m.keep)
	}
	_, _ = m.tables.Queues.Requests(queuelog.Inside{}).PutMessage(ctx, message)
	_, _, _ = m.tables.Queues.Requests(queuelog.Inside{}).Move(ctx, message.Queue,
		cursor.Range{From: message.Seq - 1, To: message.Seq}, message.Seq-1, m.Now)
	m.Changed = true
	m.notified(message.Queue)
}

func body(queue string, seq int64) []byte { return fmt.Appendf(nil, "%s/%d", queue, seq) }

func (m *model) cursor(queue string) cursor.Cursor {
	c, _ := m.tables.Queues.Requests(queuelog.Inside{}).Cursor(context.Background(), queue, true)
	return c
}

func (m *model) message(queue string, seq int64) (cursor.Message, bool) {
	found, ok, _ := m.tables.Queues.Requests(queuelog.Inside{}).
		Message(context.Background(), queue, seq)
	return found, ok
}

// Check implements [sim.Model].
func (m *model) Check() error {
	if !m.Changed {
		return nil
	}
	m.Changed = false
	for _, queue := range m.QueueNames() {
		is, was := m.cursor(queue), m.cursors[queue]
		if m.streamed && is.Position != was.Position {
			m.records = append(m.records, record{older: was, newer: is})
		}
		m.cursors[queue] = is
		page, _, _ := m.tables.Consumers.Requests(request.Inside{}).
			Consumers(context.Background(), queue, "")
		if err := m.needed(page); err != nil {
			return err
		}
		for _, c := range page {
			at := reader{queue, c.Name}
			before := m.consumers[at]
			if before == c {
				continue
			}
			if !before.Exists() && !slices.Contains(m.readers, at) {
				m.readers = append(m.readers, at)
			}
			m.consumers[at] = c
			if err := cmp.Or(m.arrow(before, c), m.blocked(before, c)); err != nil {
				return fmt.Errorf("%w\nwas %+v\nis  %+v", err, before, c)
			}
		}
	}
	return nil
}

// needed checks that what a consumer has before it is stored. One that is not yet started may lose
// it, and says so by where it starts.
func (m *model) needed(page []delivery.Consumer) error {
	for _, c := range page {
		if c.Starting == "" {
			if err := m.whole(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// rounds is how many sweeps may be needed in the end: for each attempt at a poison message its time
// must come.
const rounds = 12

// Final implements [sim.Model]. From here on nothing goes wrong, time passes, the sweep runs, and
// an operator handles what is announced.
func (m *model) Final() error {
	if m.certain && !m.Run.Failed() && m.streamed && m.poison == 0 {
		for at, c := range m.consumers {
			if position := m.cursor(at.queue).Position; c.Paused == "" && c.State != delivery.Blocked &&
				c.Delivered != position {
				return fmt.Errorf("L1: nothing went wrong, and %v is at %d of %d", at, c.Delivered, position)
			}
		}
	}
	m.outage.away = nil
	d := m.deliverer(nil)
	handle := m.handler(nil, d)
	if err := m.byTimer(d, handle); err != nil {
		return err
	}
	if m.slow {
		m.Now = m.Now.Add(25 * time.Hour)
	}
	for round := 0; round < rounds &&
		(round == 0 || cmp.Or(m.everythingHandedOn(), m.circuitClosed(), m.allSealed()) != nil); round++ {
		m.Now = m.Now.Add(10 * time.Minute)
		ctx := world.Limited(20_000)
		if err := m.sweep(ctx, d); err != nil {
			return fmt.Errorf("the last sweep: %w", err)
		}
		if _, _, err := d.Wake(ctx, "", defaultConsumer, delivery.SweepOptions{}); err != nil {
			return fmt.Errorf("the last look at the circuit: %w", err)
		}
		if err := m.operate(ctx, d); err != nil {
			return err
		}
		m.streamed = true
		taken := m.records
		m.records = nil
		if _, err := handle(ctx, event(taken)); err != nil {
			return fmt.Errorf("the last delivery: %w", err)
		}
		if err := m.finish(ctx); err != nil {
			return err
		}
		if m.Run.Err() != nil {
			return m.Run.Err()
		}
	}
	return cmp.Or(m.everythingHandedOn(), m.circuitClosed(), m.allSealed())
}

// sweep runs the sweep with a note of what it announces.
func (m *model) sweep(ctx context.Context, d *delivery.Deliverer) error {
	clear(m.announced)
	_, err := d.Sweep(ctx, delivery.SweepOptions{
		Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: attempts,
		Announce: func(_ context.Context, a delivery.Announcement) error {
			if a.Kind == "consumer.blocked" {
				m.announced[reader{a.Queue, a.Consumer}] = true
			}
			return nil
		},
	})
	return err
}

// operate does in the end what an operator does who heard the announcements.
func (m *model) operate(ctx context.Context, d *delivery.Deliverer) error {
	for _, at := range m.readers {
		c := m.consumers[at]
		o := delivery.Order{Queue: at.queue, Consumer: at.name, Reason: "the end",
			Op: fmt.Sprintf("end %s %s %d %t", at.queue, at.name, c.Token.N, c.Paused != "")}
		switch {
		case c.Paused != "":
			o.Kind = "resume"
		case c.State != delivery.Blocked:
			continue
		case !m.announced[at]:
			return fmt.Errorf("L1: %v is blocked, and it is not announced", at)
		case c.Delivered+1 == m.poison:
			m.orders[o.Op] = order{kind: "skip", seq: m.poison}
			o.Kind, o.Seq = "skip", m.poison
		default:
			m.orders[o.Op] = order{kind: "redrive", seq: c.Delivered + 1}
			o.Kind, o.Seq = "redrive", c.Delivered+1
		}
		if _, err := d.Operate(ctx, o); err != nil {
			return fmt.Errorf("the last operator: %w", err)
		}
	}
	return nil
}

// everythingHandedOn checks L1.
func (m *model) everythingHandedOn() error {
	for _, at := range m.readers {
		c, position := m.consumers[at], m.cursor(at.queue).Position
		switch s := m.sinks[at]; {
		case c.Delivered != position || c.State != delivery.Idle:
			return fmt.Errorf("L1: %v is %s at %d of %d in the end", at, c.State, c.Delivered, position)
		case s.high[c.Rewinds] < position:
			return fmt.Errorf("L1: the sink of %v has everything up to %d, and the position is %d", at,
				s.high[c.Rewinds], position)
		}
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	sim.Feed(d, m.Now, m.Running, fmt.Sprintf("%q %q", m.outage.away, m.own.asked))
	m.work.hash(d, m)
	if m.tables.Past != nil {
		d.Bool(m.Run.Failed())
		m.tables.Past.Snapshot(d)
	}
	m.HashTables(d, "streamsort-cursors", "streamsort-messages", consumersTable,
		"streamsort-trouble", "streamsort-chains")
	for _, at := range m.readers {
		m.sinks[at].hash(d)
	}
	for _, records := range [][]record{m.records, m.late} {
		d.Int(int64(len(records)))
		for _, r := range records {
			r.hash(d)
		}
	}
	d.Bool(m.lost)
	m.alarms.Hash(d)
	d.Text(fmt.Sprint(m.done)) // in the order of its keys
}
