package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

const (
	// perQueue is how many messages each queue has.
	perQueue = 2
	// poisonQueue is the queue whose message poison is never taken.
	poisonQueue = "shop/poison"
	poison      = 2
	// patience is how long nothing may come out once the sink is back.
	patience = time.Minute
	// tellEvery is the time between two lines of progress.
	tellEvery = 5 * time.Second
	// How the messages are sent.
	clients   = 4
	batchSize = 100
)

// messages are those of all queues; due are those that are to come out.
func messages(queues int) (all, due []traffic.Arrival, err error) {
	for i := range queues {
		queue := fmt.Sprintf("shop/%d", i)
		if i == queues/2 {
			queue = poisonQueue
		}
		for seq := int64(1); seq <= perQueue; seq++ {
			a, err := traffic.NewArrival(fmt.Appendf(nil, `{"queue":%q,"seq":%d,"body":{"queue":%d,"n":%d}}`, queue, seq, i, seq))
			if err != nil {
				return nil, nil, err
			}
			all = append(all, a)
			if queue != poisonQueue || seq < poison {
				due = append(due, a)
			}
		}
	}
	return all, due, nil
}

// outage is a run.
type outage struct {
	options
	*bench
	schedule schedule
	sink     *sink
	circuit  circuit
	out      io.Writer
	put      atomic.Int64
}

// run runs the outage. The error says what was not as it must be.
func run(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	all, due, err := messages(o.queues)
	if err != nil {
		return err
	}
	run := outage{
		options: o, schedule: shortened(), out: out,
		sink: &sink{watcher: traffic.NewWatcher(io.Discard, 0, due), poisonQueue: poisonQueue, poison: poison, away: true},
	}
	if run.bench, err = start(ctx, run.schedule, run.sink, out); err != nil {
		return err
	}
	defer run.stop()
	fmt.Fprintf(out, "==> the stack runs (%.1fs): %s\n", time.Since(began).Seconds(), run.stack.URL())
	fmt.Fprintf(out, "==> all times are the defaults divided by %d, and no less than may be set: %s\n", factor, run.schedule)
	var r result
	if err := run.goesAway(ctx, all, &r); err != nil {
		return err
	}
	if err := run.comesBack(ctx, &r); err != nil {
		return err
	}
	r.print(out)
	if err := r.verdict(); err != nil {
		return err
	}
	fmt.Fprintf(out, "==> the outage blocked nothing, and all came out in order (%.0fs in all)\n", time.Since(began).Seconds())
	return nil
}

// goesAway sends all messages while the sink is away, and waits until it was away for long enough.
func (o *outage) goesAway(ctx context.Context, all []traffic.Arrival, r *result) error {
	fmt.Fprintf(o.out, "==> the sink is away, for %d minutes of the schedule at least: %v; %d queues get %d messages each\n", o.minutes, o.away(), o.queues, perQueue)
	began := time.Now()
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error { return o.send(within, all) })
	sent := make(chan error, 1)
	go func() { sent <- group.Wait() }()
	var err error
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for told, done := began, false; !done || time.Since(began) < o.away(); {
		select {
		case err = <-sent:
			if done = true; err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if err := o.circuit.look(ctx, o.store); err != nil {
			return err
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			fmt.Fprintf(o.out, "    %3.0fs  %d of %d messages put, %d calls to the dead sink, %s\n",
				time.Since(began).Seconds(), o.put.Load(), len(all), len(o.sink.calledWhileAway()), &o.circuit)
		}
	}
	// Whoever makes a probe notes it first.
	r.calls = o.sink.calledWhileAway()
	if err := o.circuit.look(ctx, o.store); err != nil {
		return err
	}
	r.away, r.circuit = time.Since(began), o.circuit
	r.intervals = o.schedule.intervals(time.Since(o.circuit.opened))
	if r.blockedAway, err = o.blocked(ctx); err != nil {
		return err
	}
	return nil
}

// send puts the messages, those of a queue in their order.
func (o *outage) send(ctx context.Context, all []traffic.Arrival) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for part := range slices.Chunk(all, batchSize) {
		group.Go(func() error {
			documents := make([]json.RawMessage, len(part))
			for i, a := range part {
				documents[i] = a.Document
			}
			outcomes, err := o.client.Put(ctx, documents)
			for i, outcome := range outcomes {
				if outcome.Status >= 300 {
					err = errors.Join(err, fmt.Errorf("%s: %s", documents[i], outcome.Outcome))
				}
			}
			o.put.Add(int64(len(part)))
			return err
		})
	}
	return group.Wait()
}

// comesBack waits until all is out, once the sink is back, and the poisoned message has blocked its queue.
func (o *outage) comesBack(ctx context.Context, r *result) error {
	fmt.Fprintf(o.out, "==> the sink is back after %.0fs\n", r.away.Seconds())
	began := time.Now()
	o.sink.isAway(false)
	caughtUp := progress.Wait{Total: o.sink.watcher.Distinct(), What: "messages are out", Patience: patience, Out: o.out}
	err := caughtUp.Until(ctx, func(ctx context.Context) (count int, left string, err error) {
		if count = o.sink.watcher.State().Messages; count < caughtUp.Total {
			return count, "", nil
		}
		if r.caughtUp == 0 {
			r.caughtUp = time.Since(began)
		}
		if r.blocked, err = o.blocked(ctx); err == nil && !slices.Contains(r.blocked, poisonQueue) {
			left = "the poisoned message has blocked nothing"
		}
		return count, left, err
	})
	r.tries = o.schedule.tries(remembered)
	r.queues, r.due, r.state, r.refused = o.queues, caughtUp.Total, o.sink.watcher.State(), o.sink.refusals()
	return err
}
