package cursor

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/stream"
	"github.com/streamsort/streamsort/pkg/table"
)

// Bounds of a batch of a StatelessConsumer. A longer advance is several.
const (
	statelessMessages = 500
	statelessBytes    = 4 << 20
)

// StatelessOptions are what a StatelessConsumer reports of its work. A nil StatelessOptions reports
// nothing.
type StatelessOptions struct {
	// Failed is called with the reason why a record failed; nil reports nothing.
	Failed func(error)
}

// StatelessConsumer returns the handler of a Lambda function behind the stream of the cursors table
// that stores nothing: what it delivers follows from each record alone. For every advance it reads
// the messages old < seq <= new and delivers them in order, in batches of at most 500 seqs and 4 MB
// of bodies.
//
//	lambda.Start(cursor.StatelessConsumer(sorter, cursor.Names{}, handle, nil))
//
// The event source mapping must have ReportBatchItemFailures on.
//
// It is for effects that may be repeated, and for a look at what goes by. Package delivery is for
// all others, and promises what this does not:
//
//   - There is no claim. An advance that fails, or whose response is lost, is
//     delivered again as a whole, with the batches of it that were delivered before;
//     a handler that is still at work does not keep the next one from the same batch.
//   - An advance that the stream drops, after a day or behind a mapping that was
//     off, is not delivered at all.
//   - A record that fails holds up all queues of its shard for as long as the
//     mapping repeats it. It cannot be skipped, and the consumer cannot be paused or rewound.
//   - Retention does not know of it: a message may be deleted before it is read,
//     and its record then fails as a [MissingError].
func StatelessConsumer(s *Sorter, names Names, handle func(context.Context, Batch) error, options *StatelessOptions) func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error) {
	if options == nil {
		options = &StatelessOptions{}
	}
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		for _, raw := range event.Records {
			cur, moved, err := AdvanceOf(raw, names)
			if err == nil {
				err = s.deliver(ctx, cur, moved, handle)
			}
			if err != nil {
				if options.Failed != nil {
					options.Failed(err)
				}
				return stream.FailedAt(raw, err)
			}
		}
		return events.DynamoDBEventResponse{}, nil
	}
}

func (s *Sorter) deliver(ctx context.Context, cur Cursor, moved Range, handle func(context.Context, Batch) error) error {
	for moved.From < moved.To {
		upTo := min(moved.From+statelessMessages, moved.To)
		batch, err := s.readBatch(ctx, cur, cur.Queue, moved.From, upTo, Bound{Bytes: statelessBytes})
		if missing := (*MissingError)(nil); errors.As(err, &missing) {
			// A queue that was erased since has nothing to deliver.
			if _, gone := s.readCursor(ctx, cur.Queue); errors.Is(gone, ErrErased) {
				return nil
			}
		}
		if err != nil {
			return err
		}
		if err := handle(ctx, batch); err != nil {
			return err
		}
		moved.From = batch.To
	}
	return nil
}
