package cursor

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/stream"
	"github.com/streamsort/streamsort/pkg/table"
)

// OnArrivalsOptions are what a handler of the arrivals' stream does beside settling.
type OnArrivalsOptions struct {
	// WakeUp is called when messages of a queue up to a sort key are due, once a queue and batch:
	// [Sorter.Settle] should be called then. nil leaves them to the sweep. It must not wait for
	// anything.
	WakeUp func(queue string, upTo sortkey.SortKey, due time.Time)
	// Settled is called with what was done to a queue whose settle window is 0, also where that
	// failed; nil: nothing is called.
	Settled func(Settled)
	// Failed is called with the reason why a record, or its queue, failed.
	Failed func(error)
}

// OnArrivals returns the handler for the stream of the arrivals table: it settles each keyed queue
// that a record names, at once where its settle window is 0, and asks for a wake-up where it is
// not. Records of other queues are passed over.
//
// A queue that fails keeps no other queue of the batch back; the batch is repeated from the first
// record of such a queue on, which does no harm to the others. One whose record is older than half
// a minute is left to the sweep.
func OnArrivals(s *Sorter, names Names, options OnArrivalsOptions) func(context.Context,
	table.StreamEvent) (events.DynamoDBEventResponse, error) {
	names = names.withDefaults()
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		queues := namedIn(event, names, func(d *ddb.Decoder, q *namedQueue) bool {
			q.upTo = sortkey.SortKey(d.BytesOr(attrSortKey))
			return q.upTo.Key() != ""
		})
		s.forEach(len(queues), func(i int) { queues[i].err = queues[i].see(ctx, s, options) })
		for _, q := range queues {
			if q.err != nil && options.Failed != nil {
				options.Failed(q.err)
			}
			q.again = q.err != nil && !stream.HeldForLong(event.Records[q.first], s.now())
		}
		return againFrom(event, queues)
	}
}

func (q *namedQueue) see(ctx context.Context, s *Sorter, options OnArrivalsOptions) error {
	if q.err != nil {
		return q.err
	}
	cur, err := s.lookToLog(ctx, q.queue)
	if err == nil && !cur.Exists() {
		cur, err = s.readCursor(ctx, q.queue) // it was just made
	}
	if err != nil {
		return dropGone(err)
	}
	wakeUp := func(due time.Time) {
		if options.WakeUp != nil {
			options.WakeUp(q.queue, q.upTo, due)
		}
	}
	switch {
	case !keyed(cur):
		return nil
	case cur.Settings.Settle > 0:
		wakeUp(s.now().Add(cur.Settings.Settle)) // who stored it did so before now
		return nil
	}
	done, err := s.Settle(ctx, q.queue, q.upTo)
	if options.Settled != nil {
		options.Settled(done)
	}
	switch {
	case err == nil && done.More:
		err = context.DeadlineExceeded
	case err == nil && done.Waiting.Count > 0:
		wakeUp(done.Waiting.Due) // the window is no longer 0, or a clock is ahead of ours
	}
	return dropGone(err)
}

// dropGone is the error, but for that of a queue that was erased.
func dropGone(err error) error {
	if errors.Is(err, ErrErased) {
		return nil
	}
	return err
}
