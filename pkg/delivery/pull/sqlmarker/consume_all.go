package sqlmarker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	// grace is how long a running effect may go on after the context's end.
	grace = 10 * time.Second
	// held is how often a queue that waits for an operator is asked again at least.
	held = time.Minute
	// quiet is how often a queue is asked again whose position did not move: an operator may have
	// rewound its consumer.
	quiet = 5 * time.Minute
	// turn is how many batches a queue gets before a queue that waits for a worker is next.
	turn = 10
	// logEvery is how often the claims of other processes are logged at most.
	logEvery = 10 * time.Second
	// maxWorkers bounds the workers.
	maxWorkers = 1000
)

// ConsumeAll runs [Markers.Consume] for every queue whose name begins with prefix, also for queues
// that come later, and creates the consumers. Copies share the queues by their claims. At most
// workers batches run at once, each on one connection; a queue that waits has none.
//
// After the context's end no batch begins. Effects that run get 10 seconds; then they are
// cancelled, and their claims are given back. An error that ends Consume is logged, and its queue
// is tried again after 5 minutes; after [pull.ErrEnded] it is not. UntilEmpty returns the first
// such error. Observe is called by several goroutines.
//
// Cost: a list of the queues every Poll, 100 a request over HTTP. A queue is claimed where its
// position moved, and every 5 minutes.
func (m *Markers) ConsumeAll(ctx context.Context, claims delivery.Claims, prefix, consumer string,
	workers int, effect Effect, options *pull.ConsumeOptions) error {
	run, err := newAll(m, claims, prefix, consumer, workers, effect, options)
	if err != nil {
		return err
	}
	if err := run.check(); err != nil {
		return err
	}
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	effects, endEffects := context.WithCancel(calls)
	defer endEffects()
	run.ctx, run.calls, run.effects = ctx, calls, effects
	err = run.passes()
	// The claims of cancelled effects are given back after the first, but not for ever.
	defer time.AfterFunc(grace, endEffects).Stop()
	defer time.AfterFunc(2*grace, endCalls).Stop()
	run.running.Wait()
	return err
}

// all is a ConsumeAll under way.
type all struct {
	pull.ConsumeOptions
	database         database
	claims           delivery.Claims
	prefix, consumer string
	// ctx is the caller's. calls and effects end some time after it.
	ctx, calls, effects context.Context
	// slots has an element for each worker that is at work; queued counts the queues that wait for
	// a worker.
	slots   chan struct{}
	queued  atomic.Int64
	running sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*queue
	// active is how many queues are consumed now, failed what ended a queue first.
	active int
	failed error
	// busy are the queues that another process has a claim of, and until when.
	busy   map[string]time.Time
	logged time.Time
}

// queue is a queue that was found. One goroutine at a time consumes it.
type queue struct {
	name   string
	active bool
	// ended: the effect ended its transaction, so that it must not run again.
	ended bool
	// seen is the position up to which it was consumed; again is when to look even so.
	seen  int64
	again time.Time
}

func newAll(m *Markers, claims delivery.Claims, prefix, consumer string, workers int, effect Effect,
	options *pull.ConsumeOptions) (*all, error) {
	if err := bounds.Check("workers", workers, 1, maxWorkers); err != nil {
		return nil, err
	}
	if len(prefix) > cursor.MaxQueueName {
		return nil, invalid.New(invalid.TooLarge, "prefix",
			fmt.Sprintf("must have at most %d bytes: it has %d", cursor.MaxQueueName, len(prefix)))
	}
	if err := delivery.ValidateConsumer(consumer); err != nil {
		return nil, err
	}
	run := &all{
		database: database{m, effect}, claims: claims, prefix: prefix, consumer: consumer,
		slots: make(chan struct{}, workers), queues: map[string]*queue{}, busy: map[string]time.Time{},
	}
	if options != nil {
		run.ConsumeOptions = *options
	}
	run.Poll = cmp.Or(run.Poll, time.Second)
	if run.Wait == nil {
		run.Wait = pause.For
	}
	if run.Now == nil {
		run.Now = time.Now
	}
	if run.Logger == nil {
		run.Logger = slog.Default()
	}
	if run.Observe == nil {
		run.Observe = func(pull.Step) {}
	}
	return run, nil
}

// check has Consume check its options, on a context that has ended already. Lease and bounds are
// checked by the first claim of each queue.
func (run *all) check() error {
	over, end := context.WithCancel(context.Background())
	end()
	options := run.ConsumeOptions
	options.Observe = nil
	options.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	err := pull.Consume(over, turns{run: &all{ctx: over}}, run.database, "queue", run.consumer,
		&options)
	if errors.As(err, new(*cursor.InvalidError)) {
		return err
	}
	return nil
}

// passes looks for queues with messages until the context ends, or until there are none.
func (run *all) passes() error {
	for {
		started, err := run.pass()
		if err != nil && run.ctx.Err() == nil {
			run.Observe(pull.Step{Err: err})
			run.Logger.Warn("cannot list the queues, and tries again", "prefix", run.prefix, "error", err)
		}
		if over, failed := run.empty(); run.UntilEmpty && err == nil && started == 0 && over {
			return failed
		}
		run.logBusy()
		if err := run.Wait(run.ctx, run.Poll); err != nil {
			return err
		}
		if err := run.ctx.Err(); err != nil {
			return err
		}
	}
}

// empty reports whether no queue is consumed now, and what ended a queue first.
func (run *all) empty() (bool, error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.active == 0, run.failed
}

// pass lists all queues, and starts those that may have messages. The queues of a page start in a
// random order, so that copies meet at few.
func (run *all) pass() (started int, err error) {
	for after := ""; ; {
		page, next, err := run.claims.Queues(run.ctx, run.prefix, after)
		if err != nil {
			return started, err
		}
		rand.Shuffle(len(page), func(i, j int) { page[i], page[j] = page[j], page[i] })
		for _, listed := range page {
			if run.start(listed) {
				started++
			}
		}
		if after = next; after == "" {
			return started, nil
		}
	}
}

// start consumes a queue, unless that is under way, or there is nothing to look for.
func (run *all) start(listed delivery.Queue) bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	q, known := run.queues[listed.Name]
	if !known {
		q = &queue{name: listed.Name}
		run.queues[listed.Name] = q
	}
	if q.active || q.ended || known && q.seen == listed.Position && run.Now().Before(q.again) {
		return false
	}
	q.active = true
	run.active++
	run.running.Go(func() { run.consume(q, listed.Position) })
	return true
}

// consume consumes a queue until it is empty, while it has a worker.
func (run *all) consume(q *queue, position int64) {
	t := &worker{run: run}
	options := run.ConsumeOptions
	options.UntilEmpty, options.Create, options.Poll = true, true, held
	options.Wait = t.wait
	options.Logger = slog.New(notBusy{run.Logger.Handler()})
	options.Observe = func(s pull.Step) {
		if s.Outcome == delivery.OK {
			position = max(position, s.Batch.To)
		}
		if s.Err != nil && run.ctx.Err() == nil {
			run.Logger.Warn("a batch failed", "queue", q.name, "consumer", run.consumer, "error", s.Err)
		}
		run.Observe(s)
	}
	err := t.take()
	if err == nil {
		err = pull.Consume(run.calls, turns{run.claims, run, t},
			gentle{run.database, run.effects}, q.name, run.consumer, &options)
	}
	t.give()
	if err != nil && run.ctx.Err() == nil {
		run.Logger.Error("the queue is not consumed", "queue", q.name, "consumer",
			run.consumer, "error", err)
	} else if run.ctx.Err() != nil {
		err = nil
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.active--
	q.active, q.ended = false, errors.Is(err, pull.ErrEnded)
	q.seen, q.again = position, run.Now().Add(quiet)
	if run.failed == nil {
		run.failed = err
	}
}

// worker is what a queue has of the workers: one, or none. Its Consume alone uses it.
type worker struct {
	run  *all
	has  bool
	done int
}

// take waits for a worker, behind those that wait already.
func (t *worker) take() error {
	if t.has {
		return nil
	}
	t.run.queued.Add(1)
	defer t.run.queued.Add(-1)
	select {
	case t.run.slots <- struct{}{}:
		t.has, t.done = true, 0
		return nil
	case <-t.run.ctx.Done():
		return t.run.ctx.Err()
	}
}

// give gives the worker to the queue that waits longest.
func (t *worker) give() {
	if t.has {
		t.has = false
		<-t.run.slots
	}
}

func (t *worker) wait(_ context.Context, d time.Duration) error {
	t.give()
	if err := t.run.Wait(t.run.ctx, d); err != nil {
		return err
	}
	return t.take()
}

// turns are the claims as one queue of many makes them: no further one when the context has ended,
// and none at once after many where others wait for a worker.
type turns struct {
	delivery.Claims
	run    *all
	worker *worker
}

func (c turns) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	if err := c.run.ctx.Err(); err != nil {
		return delivery.Answer{}, err
	}
	a, err := c.Claims.Claim(ctx, r)
	if err == nil {
		c.run.note(r.Queue, a)
	}
	return a, err
}

func (c turns) CommitAndClaim(ctx context.Context, h delivery.Held, r delivery.Request,
	replies ...delivery.Reply) (done, next delivery.Answer, err error) {
	c.worker.done++
	over := c.run.ctx.Err() != nil
	yields := c.worker.done >= turn && c.run.queued.Load() > 0
	if !over && !yields {
		return c.Claims.CommitAndClaim(ctx, h, r, replies...)
	}
	done, err = c.Commit(ctx, h, replies...)
	if err == nil && yields {
		c.worker.give()
		_ = c.worker.take() // the context's end is the next claim's error
	}
	return done, delivery.Answer{}, err
}

// gentle are markers whose effects end some time after the caller's context.
type gentle struct {
	database
	effects context.Context
}

func (g gentle) Apply(ctx context.Context, b delivery.Batch, committed int64,
	prepare func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.effects, cancel)()
	return g.database.Apply(ctx, b, committed, prepare)
}

func (run *all) note(queue string, a delivery.Answer) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if a.Outcome == delivery.Busy {
		run.busy[queue] = a.Until
	} else {
		delete(run.busy, queue)
	}
}

// logBusy logs the claims of other processes: how many, and which one ends last.
func (run *all) logBusy() {
	run.mu.Lock()
	defer run.mu.Unlock()
	now := run.Now()
	if len(run.busy) == 0 || now.Sub(run.logged) < logEvery {
		return
	}
	run.logged = now
	var last string
	for name, until := range run.busy {
		if last == "" || until.After(run.busy[last]) {
			last = name
		}
	}
	attrs := []any{"queues", len(run.busy), "last", last}
	if until := run.busy[last]; !until.IsZero() {
		attrs = append(attrs, "ends_in", until.Sub(now).Round(time.Second))
	}
	run.Logger.Info("claims of other processes: a killed one's end with their leases", attrs...)
}

// notBusy leaves out of a log what logBusy logs of all queues together.
type notBusy struct{ slog.Handler }

func (h notBusy) Handle(ctx context.Context, r slog.Record) error {
	busy := false
	r.Attrs(func(a slog.Attr) bool {
		busy = busy || a.Key == "outcome" && a.Value.String() == string(delivery.Busy)
		return !busy
	})
	if busy {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
