package cursor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/stream"
	"github.com/streamsort/streamsort/pkg/table"
)

// OnMessagesOptions are what a handler of the messages' stream reports of its work. A nil
// OnMessagesOptions reports nothing.
type OnMessagesOptions struct {
	// Advanced is called with the result for each queue that a batch names; nil: nothing is called.
	Advanced func(Advance)
	// Failed is called with the reason why a record, or its queue, failed.
	Failed func(error)
}

// OnMessages returns the handler for the stream of the messages table: it advances every queue that
// a record names, once a batch. In asynchronous mode that is what moves the cursors.
//
// A queue that fails keeps no other queue of the batch back; the batch is repeated from the first
// record of such a queue on, which does no harm to the others. A queue whose record is older than
// half a minute, and that fails, or has more to move over than there is time for, is left to the
// sweep, so that the others of its shard go on; its own next record advances it as well.
func OnMessages(s *Sorter, names Names, options *OnMessagesOptions) func(context.Context,
	table.StreamEvent) (events.DynamoDBEventResponse, error) {
	if options == nil {
		options = &OnMessagesOptions{}
	}
	names = names.withDefaults()
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		queues := namedIn(event, names, func(d *ddb.Decoder, q *namedQueue) bool {
			q.seqs = []int64{d.Number(names.seqKey())}
			return true
		})
		s.forEach(len(queues), func(i int) { queues[i].heal(ctx, s, event) })
		for _, q := range queues {
			switch {
			case q.err == nil && options.Advanced != nil:
				options.Advanced(q.done)
			case q.err != nil && options.Failed != nil:
				options.Failed(q.err)
			}
		}
		return againFrom(event, queues)
	}
}

// namedQueue is what a batch of records says of a queue, and what became of it.
type namedQueue struct {
	queue string
	// first is the place of the queue's first record in the batch.
	first int
	// seqs are those of its messages, upTo is the greatest sort key of its arrivals.
	seqs []int64
	upTo sortkey.SortKey
	done Advance
	err  error
	// again reports that the record has to come again.
	again bool
}

// namedIn reads the records of a batch: once a queue, and each that cannot be read. read takes the
// rest of a record's key; false passes the record over, as one of a deletion is.
func namedIn(event table.StreamEvent, names Names,
	read func(*ddb.Decoder, *namedQueue) bool) (all []*namedQueue) {
	byQueue := map[string]*namedQueue{}
	for i, raw := range event.Records {
		key, counts := namedQueue{first: i}, false
		key.err = readKeys(raw, func(d *ddb.Decoder) {
			key.queue = d.Text(names.queueKey())
			counts = read(d, &key)
		})
		q := byQueue[key.queue]
		switch {
		case key.err != nil:
			key.again = true
			all = append(all, &key)
		case !counts:
		case q == nil:
			byQueue[key.queue] = &key
			all = append(all, &key)
		default:
			q.seqs, q.upTo = append(q.seqs, key.seqs...), max(q.upTo, key.upTo)
		}
	}
	return all
}

// againFrom has a batch repeated from the first record on that has to come again.
func againFrom(event table.StreamEvent,
	queues []*namedQueue) (events.DynamoDBEventResponse, error) {
	var lowest *namedQueue
	for _, q := range queues {
		if q.again && (lowest == nil || q.first < lowest.first) {
			lowest = q
		}
	}
	if lowest == nil {
		return events.DynamoDBEventResponse{}, nil
	}
	return stream.FailedAt(event.Records[lowest.first], lowest.err)
}

func (q *namedQueue) heal(ctx context.Context, s *Sorter, event table.StreamEvent) {
	if q.err != nil {
		return
	}
	q.done, q.err = inside{s}.Heal(ctx, q.queue, q.seqs...)
	if errors.Is(q.err, ErrErased) {
		q.err = nil
	}
	if q.again = q.err != nil; !q.again {
		return
	}
	if stream.HeldForLong(event.Records[q.first], s.now()) {
		ctx, cancel := margin.Last(ctx)
		defer cancel()
		q.again = inside{s}.LeaveToSweep(ctx, q.queue, slices.Max(q.seqs)) != nil
	}
}

// readKeys reads the keys of an item of which a record says that it is stored: nothing of a
// deletion.
func readKeys(raw json.RawMessage, read func(*ddb.Decoder)) error {
	record, err := stream.Read(raw)
	if err != nil || record.Removed() {
		return err
	}
	keys, err := record.Keys()
	if err != nil {
		return err
	}
	d := ddb.Decoder{Item: keys}
	if read(&d); d.Err != nil {
		return record.In(fmt.Errorf("keys: %w", d.Err))
	}
	return nil
}

var errNoImages = errors.New(
	"stream record has no images: the cursors' stream must show NEW_AND_OLD_IMAGES")

// AdvanceOf is what a record of the cursors' stream moved, and the cursor as it was then; an empty
// range for a record of another change, and for one that only wakes the queue's consumers up. A
// cursor that does not exist means that the record is to be passed over.
func AdvanceOf(raw json.RawMessage, names Names) (cur Cursor, moved Range, err error) {
	names = names.withDefaults()
	record, err := stream.Read(raw)
	if err != nil || record.Removed() {
		return Cursor{}, Range{}, err
	}
	newer, err := record.New()
	if err != nil {
		return Cursor{}, Range{}, err
	}
	older, err := record.Old()
	if err != nil {
		return Cursor{}, Range{}, err
	}
	if !newer.Exists() || !older.Exists() && record.Modified() {
		return Cursor{}, Range{}, record.In(errNoImages)
	}
	to, err := decodeCursor(newer, names)
	if err != nil {
		return Cursor{}, Range{}, record.In(err)
	}
	from := to.Settings.First - 1
	if older.Exists() {
		c, err := decodeCursor(older, names)
		if err != nil {
			return Cursor{}, Range{}, record.In(err)
		}
		from = c.Position
	}
	return to, Range{from, to.Position}, nil
}
