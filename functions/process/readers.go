package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/sink"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// readersFrom makes the readers of the environment's text, or else of the file that lies in a
// folder. They make no request until they are given a batch. cache finds where a queue goes to
// whose consumer's sink does not say.
func readersFrom(folder string, cache *endpoint.Cache) ([]delivery.Reader, error) {
	all, source, err := load(folder)
	if err != nil {
		return nil, err
	}
	var readers []delivery.Reader
	for _, c := range all {
		if !c.HasSink() {
			continue
		}
		to, err := sink.New(c.Sink, kind.Options{Endpoints: endpoints(cache)})
		if err != nil {
			return nil, fmt.Errorf("sink of consumer %q: %w", c.Reader.Name, err)
		}
		c.Reader.Handle = handing(to)
		if c.Reader.Apart {
			c.Reader.Changed = changed(cache, c.Reader.Name)
		}
		readers = append(readers, c.Reader)
	}
	if len(readers) == 0 {
		return nil, fmt.Errorf("%s: no consumer has a sink", source)
	}
	return readers, nil
}

func load(folder string) (all []consumers.Consumer, source string, err error) {
	if text := os.Getenv(consumers.TextVariable); text != "" {
		if all, err = consumers.Read([]byte(text), os.LookupEnv); err != nil {
			err = fmt.Errorf("%s: %w", consumers.TextVariable, err)
		}
		return all, consumers.TextVariable, err
	}
	all, err = assetfile.Load(folder, consumers.File, consumers.Read)
	return all, filepath.Join(folder, consumers.File), err
}

// handing hands batches to a sink. A message that the sink can never take blocks the consumer
// without being tried again: it would fail the same way, and its queue would wait in silence for
// longer; so would one that an endpoint refuses for good. Where the sink is away, no message is at
// fault. No endpoint is tried again before it asks to be, and no queue without one before it has
// one, or an hour has passed.
func handing(to kind.Sink) func(context.Context, delivery.Batch) error {
	return func(ctx context.Context, batch delivery.Batch) error {
		err := to.Send(ctx, batch)
		answered, answers := errors.AsType[*kind.AnswerError](err)
		switch {
		case errors.As(err, new(*kind.TooLargeError)), answers && answered.Final():
			return delivery.Permanent(err)
		case kind.IsAway(err):
			err = delivery.SinkAway(err)
		}
		switch {
		case answers && !answered.RetryAt.IsZero():
			err = delivery.NotBefore(err, answered.RetryAt)
		case errors.Is(err, endpoint.ErrNone):
			err = delivery.NotBefore(err, time.Now().Add(time.Hour))
		}
		return err
	}
}
