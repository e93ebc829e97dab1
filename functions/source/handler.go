package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, json.RawMessage) (json.RawMessage, error)

// The function's own variables.
const (
	// sourceVariable holds the source, failureVariable the URL of the queue of what is set
	// aside.
	sourceVariable, failureVariable = "STREAMSORT_SOURCE", "STREAMSORT_FAILURE_QUEUE"
)

// service takes events.
type service struct {
	source *source.Source
	sorter *cursor.Sorter
	// aside takes what makes no message.
	aside *aside
	// quotas are the tenants', nil where there are none.
	quotas *quota.Keeper
	// log names the queue that is watched.
	log     calllog.Log
	emitter *emf.Emitter
	// after is called behind each event.
	after func(context.Context, *emf.Metrics)
}

// fromEnvironment makes the handler of the environment's source and tables. Metrics go to out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	of, err := source.Read([]byte(os.Getenv(sourceVariable)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sourceVariable, err)
	}
	announcer, err := announce.New(s.EventBus, s.AnnounceTopic, s.AnnounceFunction)
	if err != nil {
		return nil, err
	}
	aside, err := newAside(of, os.Getenv(failureVariable), announcer)
	if err != nil {
		return nil, err
	}
	client, err := dynamo.New(nil)
	if err != nil {
		return nil, err
	}
	sorter, err := s.NewSorter(client)
	if err != nil {
		return nil, err
	}
	quotas, err := settings.NewQuotas(client)
	if err != nil {
		return nil, err
	}
	return (&service{
		source: of, sorter: sorter, aside: aside, quotas: quotas, log: s.Log,
		emitter: settings.NewEmitter(out), after: s.After(client),
	}).handle, nil
}

// margins is how long before the function's time is over it stops, and answers which records
// have to be repeated.
const margins = 2 * time.Second

// handle takes an event: stores the messages that its records make, sets aside those that make
// none, and answers which have to be repeated.
//
// Lost answer, or we die at any point: the event comes again, and what is stored is known by
// its ids. What was set aside is so again, under the same id. Another invocation with the same
// records, or some of them: the same.
func (s *service) handle(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	metrics := s.emitter.Begin()
	defer metrics.Flush()
	defer s.after(ctx, metrics)
	ctx, cancel := margin.Keep(ctx, margins)
	defer cancel()
	event, err := s.source.Split(raw)
	if err != nil {
		metrics.Count("Errors", 1)
		slog.ErrorContext(ctx, "not understood", "source", s.source.Name, "error", err)
		return nil, err
	}
	metrics.Count("SourceRecords", len(event.Records))
	b := newBatch(s, event, metrics)
	b.read()
	b.store(ctx)
	b.setAside(ctx)
	answer, err := event.Answer(b.failed)
	if err != nil {
		err = errors.Join(err, b.why)
	}
	return answer, err
}
