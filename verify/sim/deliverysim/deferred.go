package deliverysim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/verify/sim"
)

// track is how long the work of a deferred batch may take, overTrack a tick after which it is late.
const (
	track     = 2 * time.Minute
	overTrack = track + time.Second
)

// work is what goes on of batches that were handed over; the model has none where nothing is
// deferred.
type work struct {
	// depth is how many edges lie one under the other in a message's tree; 0 where batches have no
	// chain, and a worker has their token.
	depth int
	// fails is how often workers may find that their work fails.
	fails int
	// made counts the consumers that were made.
	made int
	// tasks wait for workers, ends in the chains' stream.
	tasks []task
	ends  []chainEnd
	// claims is what is known of each claim, by the tag of its chain; tags are in the order of the
	// claims.
	claims map[string]*worked
	tags   []string
	// edges are all that were handed over; done are the edges, and the tokens, whose work was done.
	edges []xorack.Edge
	done  map[any]bool
	// awake are the consumers of whose queue somebody was notified since their last claim ended.
	awake map[reader]bool
}

type worked struct {
	consumer delivery.Consumer
	// handed is set when the batch was handed over, skipped when it has no message; roots are its
	// edges.
	handed, skipped bool
	roots           []xorack.Edge
	// made is set when a process made the chain. again is set when the claim was made a second
	// time: its request was repeated after the consumer was removed and recreated; used, where the
	// first one had its chain.
	made, again, used bool
	// former is the sink of a claim whose consumer was removed since: its process may still deliver.
	former *sink
}

// task is work that waits: an edge and how many lie under it, or a claim. tries is how often it was
// handed out in vain.
type task struct {
	edge  xorack.Edge
	under int
	held  delivery.Held
	tries int
}

// chainEnd is a record of the chains' stream that shows an end.
type chainEnd struct {
	chain xorack.Chain
	image ddb.Item
	tries int
}

// defers has the batches deferred: with chains whose trees are so deep, or, where that is 0, by
// their tokens.
func (m *model) defers(depth int) {
	m.work = &work{depth: depth, claims: map[string]*worked{}, done: map[any]bool{},
		awake: map[reader]bool{}}
	m.certain = false // the work may fail, or take too long
	if depth > 0 {
		m.bound.Track = track
	}
	m.bound.MaxMessages, m.bound.MaxAttempts = 1, attempts+1
	for _, at := range m.readers {
		m.work.claimed(m.consumers[at])
	}
}

// defersAway has two queues' batches deferred while their sink is away.
func (m *model) defersAway() {
	m.defers(1)
	m.bound.MaxAttempts = attempts
	m.outage.away = []string{defaultQueue, otherQueue}
	m.process("P")
	m.ender("E")
	m.worker("W")
	m.comesBack()
}

// deferring is a scenario of one message whose batch is deferred, with all functions and a worker.
func deferring(name string, faults int, messages int64, depth int,
	actors ...func(*model)) sim.Scenario {
	begins := func(m *model) {
		m.defers(depth)
		m.hinted()
		m.process("P")
		if depth > 0 {
			m.ender("E")
		}
		m.worker("W")
	}
	return scenario(name, faults, messages, slices.Insert(actors, 0, begins)...)
}

// sealed checks D3.
func (m *model) sealed(c *worked) error {
	whose := reader{c.consumer.Queue, c.consumer.Name}
	at, _ := m.tables.Consumers.Requests(request.Inside{}).Consumer(context.Background(),
		whose.queue, whose.name)
	switch own := at.Token == c.consumer.Token; {
	case own && at.State == delivery.Started:
		return fmt.Errorf("D3: the chain of %v is sealed, and its claim is in flight", at.Token)
	case own && at.State == delivery.Idle && at.Delivered < m.cursor(whose.queue).Position &&
		!m.work.awake[whose]:
		return fmt.Errorf("D3: the chain of %v is sealed, and nobody was notified of what lies behind %d",
			c.consumer.Token, at.Delivered)
	}
	return nil
}

// notified notes that somebody was notified of a queue.
func (m *model) notified(queue string) {
	if m.work == nil {
		return
	}
	for _, at := range m.readers {
		if at.queue == queue {
			m.work.awake[at] = true
		}
	}
}

func (w *work) claimed(c delivery.Consumer) {
	tag := chainTag(c)
	is := &worked{consumer: c}
	if before := w.claims[tag]; before != nil {
		is.again, is.used = true, before.made || before.used
	} else {
		w.tags = append(w.tags, tag)
	}
	w.claims[tag], w.awake[reader{c.Queue, c.Name}] = is, true
}

// removed notes that a consumer was removed: its claims keep its sink, the next one has its own.
func (w *work) removed(at reader, sinks map[reader]*sink) {
	for _, c := range w.claims {
		if c.former == nil && c.consumer.Queue == at.queue && c.consumer.Name == at.name {
			c.former = sinks[at]
		}
	}
}

// isDeferred checks that what is deferred was handed over.
func (w *work) isDeferred(c delivery.Consumer) error {
	if !w.claims[chainTag(c)].handed {
		return fmt.Errorf("D1: the claim of %v is deferred, and was not handed over", c.Token)
	}
	return nil
}

// over checks the end of a claim, and D1 and D2 of one that is committed.
func (m *model) over(was delivery.Consumer, committed bool) error {
	w := m.work
	if w == nil {
		return nil
	}
	w.awake[reader{was.Queue, was.Name}] = false
	tag := chainTag(was)
	switch c := w.claims[tag]; {
	case !committed || c.skipped:
		return nil
	case w.depth == 0 && !w.done[was.Token]:
		return fmt.Errorf("D1: %d to %d are committed, and their work was not done", was.From, was.To)
	case w.depth == 0:
		return nil
	case m.chain(tag).End() != xorack.Done:
		return fmt.Errorf("D2: the claim of %v is committed, and its chain is %q", was.Token,
			m.chain(tag).End())
	default:
		for _, root := range c.roots {
			e := root
			for range w.depth {
				if !w.done[e] {
					return fmt.Errorf("D1: %d to %d are committed, and work of theirs was not done",
						was.From, was.To)
				}
				e = e.Child(0)
			}
		}
	}
	return nil
}

func (m *model) handed(b delivery.Batch) {
	w := m.work
	if w == nil {
		return
	}
	held := b.Held()
	tag := chainTag(delivery.Consumer{Queue: b.Queue, Name: b.Consumer, Token: b.Token})
	c := w.claims[tag]
	if c == nil || c.consumer.From != b.From || c.consumer.To != b.To {
		m.Run.Violation("D2: %d to %d come under %v, which has another claim", b.From, b.To, b.Token)
		return
	}
	c.handed, c.skipped = true, len(b.Messages) == 0
	if c.skipped {
		return // there is no work
	}
	if w.depth == 0 {
		w.tasks = append(w.tasks, task{held: held})
		return
	}
	switch {
	case len(b.Edges) != len(b.Messages):
		m.Run.Violation("D2: %d messages are handed over with %d edges", len(b.Messages), len(b.Edges))
	case !m.chain(tag).IsCreated() || b.Edges[0].Tag() != tag:
		m.Run.Violation("D2: %d to %d come under %v, whose chain was never created",
			b.From, b.To, b.Token)
	case c.used:
		m.Run.Violation("D2: %d to %d come under %v, whose chain another claim had before",
			b.From, b.To, b.Token)
	}
	c.roots = b.Edges
	for _, root := range b.Edges {
		if !slices.Contains(w.edges, root) {
			w.edges = append(w.edges, root)
		}
		w.tasks = append(w.tasks, task{edge: root, under: w.depth - 1})
	}
}

// next takes the first of what waits: it may be lost, or stay to come twice.
func next[T any](waits *[]T, way int) (first T, handed bool) {
	first = (*waits)[0]
	if way < 2 {
		*waits = (*waits)[1:]
	}
	return first, way != 1
}

// ender is the function behind the chains' stream: a record may be dropped, or come twice, and the
// process may die.
func (m *model) ender(name string) {
	ready := func() bool { return len(m.work.ends) > 0 }
	m.Serves(name, sim.Labelf("next end"), ready, func(p *sim.Proc) func(int) {
		return func(way int) {
			at, handed := next(&m.work.ends, way)
			if !handed {
				return
			}
			d, acker := m.deliverer(p), m.acker(p)
			m.Hash(p.Knows(), at.image)
			_, err := acker.Finish(context.Background(), at.chain, d.Ender(nil))
			if at.tries++; way == 0 && at.tries < retries && (p.Dead() || err != nil) {
				m.work.ends = append([]chainEnd{at}, m.work.ends...)
			}
		}
	}, "", "dropped", "handed out twice")
}

// worker does the work: a task may come twice, be lost, or fail for good; the worker may die, and
// the task comes again.
func (m *model) worker(name string) {
	ready := func() bool { return len(m.work.tasks) > 0 }
	m.Serves(name, sim.Labelf("next task"), ready, func(p *sim.Proc) func(int) {
		return func(way int) {
			at, handed := next(&m.work.tasks, way)
			if !handed {
				return
			}
			d, acker := m.deliverer(p), m.acker(p)
			at.hash(p.Knows())
			err := m.works(p, d, acker, at)
			if at.tries++; way == 0 && at.tries < retries && (p.Dead() || err != nil) {
				m.work.tasks = append(m.work.tasks, at)
			}
		}
	}, "", "lost", "handed out twice")
}

// errEarly is the answer to a worker that was faster than the handler's answer.
var errEarly = errors.New("not deferred yet")

// works does the work of a task, says so, and passes on the work that follows.
func (m *model) works(p *sim.Proc, d *delivery.Deliverer, acker *xorack.Acker, at task) error {
	ctx, fails := context.Background(), m.work.fails > 0
	if fails {
		m.work.fails--
	}
	if at.edge.IsZero() {
		claims, err := delivery.NewClaims(d, nil)
		if err != nil {
			return err
		}
		var said delivery.Answer
		if fails {
			said, err = claims.Abort(ctx, at.held, "no")
		} else {
			m.work.done[at.held.Token] = true
			said, err = claims.Commit(ctx, at.held)
		}
		if said.Outcome == delivery.Busy {
			err = errEarly
		}
		return err
	}
	if fails {
		_, err := acker.Fail(ctx, at.edge, "no")
		return err
	}
	m.work.done[at.edge] = true
	var children []xorack.Edge
	if at.under > 0 {
		children = at.edge.Children(1)
	}
	r, err := acker.Done(ctx, at.edge, children...)
	if err != nil || p.Dead() || r.Chain.End() != xorack.Open {
		return err
	}
	for _, e := range children {
		m.work.tasks = append(m.work.tasks, task{edge: e, under: at.under - 1})
	}
	return nil
}

// extender has more time for whatever was handed over, once.
func (m *model) extender(by time.Duration) {
	m.Run.Go("extender", func(p *sim.Proc) {
		acker := m.acker(p)
		if p.Choose(sim.Labelf("extend"), func() bool { return len(m.work.edges) > 0 }, "") < 0 {
			return
		}
		_, _ = acker.Extend(context.Background(), m.work.edges[len(m.work.edges)-1], m.Now.Add(by))
	})
}

// comesBack has the sink back, at any moment; else it is in the end.
func (m *model) comesBack() {
	m.Step("sink", sim.Labelf("the sink is back"), nil, func() { m.outage.away = nil })
}

// comes is a record of the queue that comes, at any moment.
func (m *model) comes() {
	m.streamed = true
	m.Step("record", sim.Labelf("a record comes"), nil, m.hinted)
}

// remaker removes the consumer, and makes it anew where it began.
func (m *model) remaker() {
	m.Step("remaker", sim.Labelf("remove and make anew"), func() bool {
		c := m.consumers[reader{defaultQueue, defaultConsumer}]
		return c.State == delivery.Idle && c.Token.N > 0
	}, func() {
		d := m.deliverer(nil)
		ctx := context.Background()
		_, err := d.Operate(ctx, delivery.Order{Kind: "remove", Queue: defaultQueue,
			Consumer: defaultConsumer, Reason: "why", Op: "remove"})
		delete(m.consumers, reader{defaultQueue, defaultConsumer})
		m.work.made++
		m.work.removed(reader{defaultQueue, defaultConsumer}, m.sinks)
		clear(m.done) // what an operator asked for may be done to the new one, too
		if err == nil {
			_, err = d.Create(ctx, defaultQueue, defaultConsumer, delivery.First)
		}
		if err != nil {
			m.Run.Violation("what an operator may do was refused: %v", err)
		}
		m.notified(defaultQueue)
		m.hinted()
	})
}

// finish does what is left of the work in the end: all of it is done.
func (m *model) finish(ctx context.Context) error {
	if m.work == nil {
		return nil
	}
	d, acker := m.deliverer(nil), m.acker(nil)
	m.work.fails = 0
	for len(m.work.tasks) > 0 {
		at := m.work.tasks[0]
		m.work.tasks = m.work.tasks[1:]
		if err := m.works(nil, d, acker, at); err != nil && !errors.Is(err, errEarly) {
			return fmt.Errorf("the last work: %w", err)
		}
	}
	return m.sweepChains(ctx, d, acker)
}

func (m *model) sweepChains(ctx context.Context, d *delivery.Deliverer, acker *xorack.Acker) error {
	if acker == nil {
		return nil
	}
	_, err := acker.Sweep(ctx, d.Ender(nil))
	return err
}

// allSealed checks that nothing is left to do for any chain.
func (m *model) allSealed() error {
	if m.work != nil {
		for _, tag := range m.work.tags {
			if c := m.chain(tag); c.Exists() && !c.Sealed() {
				return fmt.Errorf("L1: the chain %s is %q and not sealed in the end", tag, c.End())
			}
		}
	}
	return nil
}

func (t task) hash(d *sim.Digest) {
	sim.Feed(d, t.edge.String(), t.held.Token.String(), t.under, t.tries)
}

func (w *work) hash(d *sim.Digest, m *model) {
	if w == nil {
		return
	}
	sim.Feed(d, w.fails, w.made, len(w.ends), len(w.tasks), len(w.tags))
	for _, at := range m.readers {
		d.Bool(w.awake[at])
	}
	for _, e := range w.ends {
		m.Hash(d, e.image)
		d.Int(int64(e.tries))
	}
	for _, t := range w.tasks {
		t.hash(d)
	}
	for _, tag := range w.tags {
		c := w.claims[tag]
		sim.Feed(d, tag, c.handed, c.skipped, len(c.roots), c.made, c.again, c.used,
			w.done[c.consumer.Token])
		if c.former != nil {
			c.former.hash(d)
		}
	}
	for _, e := range w.edges {
		for range w.depth {
			d.Bool(w.done[e])
			e = e.Child(0)
		}
	}
}
