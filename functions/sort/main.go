// Command sort is the function behind the streams of the messages table and of the arrivals table.
// It heals each queue that a message's record names, and in asynchronous mode it is what moves the
// cursors. It settles each keyed queue that an arrival's record names, or has the timer wake the
// sweep up for that when the settle window is over. A queue with more to move over than one
// invocation has time for is continued by the next one: its record is returned as one that has to
// be repeated.
package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/stream"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/timer"
)

func main() { runtime.Main(newHandler) }

// headroom is how long before the function's deadline it stops, and returns which record has to be
// repeated.
const headroom = 5 * time.Second

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	s := &sorting{sorter: d.Sorter(), names: d.Names, timer: d.Timer}
	return runtime.Handle(d, headroom, s.handle), nil
}

type sorting struct {
	sorter *cursor.Sorter
	names  cursor.Names
	timer  *timer.Timer
}

// handle takes a batch of records of one of the two streams, and returns the first one that has to
// be repeated. So has one whose queue has more to move over than there is time for; it is continued
// where it stopped.
func (s *sorting) handle(ctx context.Context, metrics *emf.Metrics,
	event table.StreamEvent) (events.DynamoDBEventResponse, error) {
	metrics.Count("StreamRecords", len(event.Records))
	failed := func(err error) {
		if errors.Is(err, context.DeadlineExceeded) {
			metrics.Count("Unfinished", 1)
			slog.InfoContext(ctx, "a queue has more to sort than there was time for")
			return
		}
		metrics.Count("Errors", 1)
		slog.ErrorContext(ctx, "a queue was not sorted", "error", err)
	}
	if s.ofArrivals(event) {
		return cursor.OnArrivals(s.sorter, s.names, cursor.OnArrivalsOptions{
			WakeUp: func(queue string, upTo sortkey.SortKey, due time.Time) {
				s.timer.Settle(queue, string(upTo), due)
			},
			Settled: func(done cursor.Settled) { runtime.CountSettled(metrics, done) },
			Failed:  failed,
		})(ctx, event)
	}
	return cursor.OnMessages(s.sorter, s.names, &cursor.OnMessagesOptions{
		Advanced: func(a cursor.Advance) { metrics.Count("Advances", len(a.Moves)) },
		Failed:   failed,
	})(ctx, event)
}

// ofArrivals reports whether a batch, which is always of one stream, is of the arrivals table's.
func (s *sorting) ofArrivals(event table.StreamEvent) bool {
	if len(event.Records) == 0 {
		return false
	}
	first, err := stream.Read(event.Records[0])
	return err == nil && first.IsOf(s.names.ArrivalsTable().Name)
}
