package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error)

// fromEnvironment makes the handler of the environment's tables. Metrics go to
// out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	sorter, err := s.NewSorter()
	if err != nil {
		return nil, err
	}
	return newHandler(sorter, s.Names, settings.NewEmitter(out)), nil
}

// newHandler returns the handler, which takes a batch of records and returns the first
// one that has to be repeated.
func newHandler(sorter *cursor.Sorter, names cursor.Names, emitter *emf.Emitter) handler {
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		metrics := emitter.Begin()
		defer metrics.Flush()
		metrics.Count("StreamRecords", len(event.Records))
		return cursor.OnMessages(sorter, names, &cursor.OnMessagesOptions{
			Advanced: func(a cursor.Advance) { metrics.Count("Advances", len(a.Moves)) },
			Failed: func(err error) {
				metrics.Count("Errors", 1)
				slog.ErrorContext(ctx, "a queue was not sorted", "error", err)
			},
		})(ctx, event)
	}
}
