package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"
)

// soak is a run.
type soak struct {
	options
	*bench
	out   io.Writer
	began time.Time

	in            *ledger
	producers     *producers
	watchers      []*watcher
	announcements *announcements
	readers       []*queueReader
	sweeps        *sweeps
}

// run runs the soak. The error says what was not as it must be.
func run(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	b, err := start(ctx, o, out)
	if err != nil {
		return err
	}
	defer b.stop()
	s, err := newSoak(b, o, out, began)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "==> the stack runs (%.1fs): %s; logs in %s\n", time.Since(began).Seconds(), b.stack.URL(), b.logs)
	if err := configureGap(ctx, s.producers.Client); err != nil {
		return err
	}
	defer b.stack.Subscribe(watchLog(s.watchers[0], "WebhooksFunction"))()
	defer b.stack.Subscribe(watchLog(s.watchers[1], "ReceiverFunction"))()
	failed := s.work(ctx)
	r := s.result()
	r.print(out)
	if err := errors.Join(failed, r.verdict()); err != nil {
		return err
	}
	fmt.Fprintln(out, "==> everything came out of every sink, in order, unchanged; what is stuck was announced")
	return nil
}

func newSoak(b *bench, o options, out io.Writer, began time.Time) (*soak, error) {
	in := newLedger()
	s := &soak{
		options: o, bench: b, out: out, began: began, in: in, announcements: newAnnouncements(), sweeps: &sweeps{stack: b.stack},
		watchers: []*watcher{
			newWatcher("your function", fenced, true, in),
			newWatcher("lambda", fenced, false, in),
			newWatcher("sqs", queued, true, in),
			newWatcher("sns", queued, true, in),
			newWatcher("eventbridge", unordered, true, in),
		},
	}
	var err error
	if s.producers, err = newProducers(b.stack.URL()); err != nil {
		return nil, err
	}
	addresses := b.stack.Outputs()["sinks"]
	for output, take := range map[string]func(types.Message) error{
		"Queue": s.watchers[2].fifo, "FromTopic": s.watchers[3].fifo, "FromBus": s.watchers[4].event,
		"Announcements": s.announcements.event,
	} {
		reader, err := newQueueReader(addresses[output], take)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", output, err)
		}
		s.readers = append(s.readers, reader)
	}
	return s, nil
}

// work produces, with everything going wrong, and waits until all is out.
func (s *soak) work(ctx context.Context) error {
	background, stop := context.WithCancel(ctx)
	group, background := errgroup.WithContext(background)
	for _, reader := range s.readers {
		group.Go(func() error { return reader.run(background) })
	}
	group.Go(func() error { return s.sweeps.run(background) })
	s.network.disturb(true)
	err := s.produceAndDrain(background)
	s.network.disturb(false)
	stop()
	return errors.Join(err, group.Wait())
}

func (s *soak) produceAndDrain(ctx context.Context) error {
	fmt.Fprintf(s.out, "==> %d messages a second to %d queues, for %s, while things go wrong (SEED=%d)\n", s.rate, queues, s.time, s.seed)
	reporting, stop := context.WithCancel(ctx)
	defer stop()
	var reporters errgroup.Group
	reporters.Go(func() error { s.tell(reporting); return nil })
	defer func() { stop(); _ = reporters.Wait() }()
	if err := s.producers.run(ctx, newTraffic(s.seed, s.in), s.options); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "==> sent (%.0fs); waiting until all is out of each sink\n", time.Since(s.began).Seconds())
	if err := s.drain(ctx); err != nil {
		return err
	}
	return s.blocked(ctx)
}

// blocked checks that the poisoned message stopped one consumer, and no other.
func (s *soak) blocked(ctx context.Context) error {
	all, text, err := consumersOf(ctx, s.producers.Client, poisonQueue)
	if err != nil {
		return err
	}
	var errs []error
	for _, consumer := range all {
		if (consumer.State == "BLOCKED") != (consumer.Consumer == receiver) {
			errs = append(errs, fmt.Errorf("queue %s: consumer %s is %s", poisonQueue, consumer.Consumer, consumer.State))
		}
	}
	if len(all) != len(consumerNames) {
		errs = append(errs, fmt.Errorf("queue %s: %d consumers, not %d: %s", poisonQueue, len(all), len(consumerNames), text))
	}
	return errors.Join(errs...)
}
