package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack"
)

const (
	// patience is how long nothing may come out, while something is due.
	patience = time.Minute
	// tellEvery is the time between two lines of progress while messages are sent.
	tellEvery = 5 * time.Second
)

// load is a run.
type load struct {
	options
	out       io.Writer
	stack     *localstack.Stack
	meter     *meter.Meter
	producers *producers
	journeys  *journeys
	watcher   *traffic.Watcher
}

// run runs the load. The error says what was not as it must be.
func run(ctx context.Context, o options, out io.Writer) error {
	root, err := localdb.Root()
	if err != nil {
		return err
	}
	kind := front.Steady()
	fmt.Fprintf(out, "==> starting %s, and the functions of examples/demo/streamsort.patch.json\n", kind)
	l := &load{options: o, out: out, meter: meter.New(front.Transport()), journeys: newJourneys()}
	server, err := front.Start(ctx, kind, "", l.meter)
	if err != nil {
		return err
	}
	defer server.Close()
	if l.stack, err = localstack.Run(ctx, localstack.Config{
		Templates: []string{
			filepath.Join(root, "examples", "demo", "streamsort.patch.json"),
			filepath.Join(root, "examples", "receiver", "receiver.template.json"),
		},
		Env:    o.variables(),
		Server: server.URL, Logger: slog.New(slog.DiscardHandler),
	}); err != nil {
		return err
	}
	defer l.stack.Close()
	if l.producers, err = newProducers(l.stack.URL(), o, l.journeys); err != nil {
		return err
	}
	l.watcher = traffic.Watch(sumOf, l.journeys.end)
	defer l.stack.Subscribe(func(line localstack.Line) {
		if line.LogicalID == "ReceiverFunction" {
			l.watcher.Line(line.Text)
		}
	})()
	r, failed := l.work(ctx)
	if errors.Is(failed, context.Canceled) {
		return failed
	}
	r.print(out)
	return errors.Join(failed, r.verdict())
}

// work makes the queues, sends for the time, and waits until all is out.
func (l *load) work(ctx context.Context) (result, error) {
	fmt.Fprintf(l.out, "==> making %d queues\n", l.queues)
	if err := l.producers.send(ctx, func(send func([]request) error) error { return send(l.producers.first()) }); err != nil {
		return result{}, err
	}
	if err := l.drain(ctx); err != nil {
		return result{}, err
	}
	l.journeys.forget()
	before, made, batches := l.meter.Counts(), l.producers.made, l.watcher.State().Batches
	began := time.Now()
	fmt.Fprintf(l.out, "==> %d messages a second for %s, %d of one queue a request\n", l.rate, l.time, l.batch)
	err := l.producers.send(ctx, func(send func([]request) error) error {
		told := began
		if err := traffic.Pace(ctx, l.time, l.rate, func(due int) error {
			if time.Since(told) >= tellEvery {
				told = time.Now()
				fmt.Fprintf(l.out, "    %4.0fs  %d sent, %d out\n", time.Since(began).Seconds(), l.producers.made-made, l.watcher.State().Messages-made)
			}
			return send(l.producers.due(due))
		}); err != nil {
			return err
		}
		return send(l.producers.last())
	})
	sending := time.Since(began)
	if err == nil {
		err = l.drain(ctx)
	}
	state := l.watcher.State()
	took, last := l.journeys.sorted()
	return result{
		options: l.options, messages: l.producers.made - made, sending: sending, all: last.Sub(began), took: took,
		spent: l.meter.Counts().Sub(before).Total(), batches: state.Batches - batches, again: state.Repeated, lost: l.producers.made - state.Messages,
		wrong: append(append(l.producers.Sent().Wrong, state.Violations...), l.givenUp()...), repeats: l.producers.Sent().Repeats,
	}, err
}

// drain waits until every message is out, and every stream has been dealt with.
func (l *load) drain(ctx context.Context) error {
	wait := progress.Wait{Total: l.producers.made, What: "messages are out", Patience: patience, Out: l.out}
	var since time.Time
	return wait.Until(ctx, func(context.Context) (count int, left string, err error) {
		count = l.watcher.State().Messages
		if count >= wait.Total && since.IsZero() {
			since = time.Now()
		}
		if !since.IsZero() && !l.stack.Idle(since) {
			left = "the streams are not dealt with"
		}
		return count, left, nil
	})
}

// givenUp is what functions gave up on.
func (l *load) givenUp() []string {
	var all []string
	for _, failure := range l.stack.Failures() {
		all = append(all, "given up: "+string(failure.Message))
	}
	return all
}
