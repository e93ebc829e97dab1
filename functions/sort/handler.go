package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/margin"
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
	client, err := dynamo.New(nil)
	if err != nil {
		return nil, err
	}
	sorter, err := s.NewSorter(client)
	if err != nil {
		return nil, err
	}
	return newHandler(sorter, s.Names, settings.NewEmitter(out), s.SendWakeUps), nil
}

// margins is how long before the function's deadline it stops, and returns which
// record has to be repeated.
const margins = 5 * time.Second

// newHandler returns the handler, which takes a batch of records and returns the first
// one that has to be repeated. So has one whose queue has more to move over than there
// is time for; it is continued where it stopped. after is called at the end.
func newHandler(sorter *cursor.Sorter, names cursor.Names, emitter *emf.Emitter, after func(context.Context, *emf.Metrics)) handler {
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		metrics := emitter.Begin()
		defer metrics.Flush()
		defer after(ctx, metrics)
		ctx, cancel := margin.Keep(ctx, margins)
		defer cancel()
		metrics.Count("StreamRecords", len(event.Records))
		return cursor.OnMessages(sorter, names, &cursor.OnMessagesOptions{
			Advanced: func(a cursor.Advance) { metrics.Count("Advances", len(a.Moves)) },
			Failed: func(err error) {
				if errors.Is(err, context.DeadlineExceeded) {
					metrics.Count("Unfinished", 1)
					slog.InfoContext(ctx, "a queue has more to sort than there was time for")
					return
				}
				metrics.Count("Errors", 1)
				slog.ErrorContext(ctx, "a queue was not sorted", "error", err)
			},
		})(ctx, event)
	}
}
