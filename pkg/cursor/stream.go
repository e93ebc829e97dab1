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
func OnMessages(s *Sorter, names Names, options *OnMessagesOptions) func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error) {
	if options == nil {
		options = &OnMessagesOptions{}
	}
	names = names.withDefaults()
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		queues := storedIn(event, names)
		s.forEach(len(queues), func(i int) { queues[i].heal(ctx, s, event) })
		var lowest *storedSeqs
		for _, q := range queues {
			switch {
			case q.err == nil && options.Advanced != nil:
				options.Advanced(q.done)
			case q.err != nil && options.Failed != nil:
				options.Failed(q.err)
			}
			if q.again && (lowest == nil || q.first < lowest.first) {
				lowest = q
			}
		}
		if lowest == nil {
			return events.DynamoDBEventResponse{}, nil
		}
		return stream.FailedAt(event.Records[lowest.first], lowest.err)
	}
}

// storedSeqs is what a batch of records says of a queue, and what became of it.
type storedSeqs struct {
	queue string
	// first is the place of the queue's first record in the batch.
	first int
	seqs  []int64
	done  Advance
	err   error
	// again reports that the record has to come again.
	again bool
}

// storedIn reads the records of a batch: once a queue, and each that cannot be read.
func storedIn(event table.StreamEvent, names Names) []*storedSeqs {
	var all []*storedSeqs
	byQueue := map[string]*storedSeqs{}
	for i, raw := range event.Records {
		queue, seq, stored, err := storedKey(raw, names)
		switch {
		case err != nil:
			all = append(all, &storedSeqs{first: i, err: err, again: true})
			continue
		case !stored:
			continue
		}
		q := byQueue[queue]
		if q == nil {
			q = &storedSeqs{queue: queue, first: i}
			byQueue[queue] = q
			all = append(all, q)
		}
		q.seqs = append(q.seqs, seq)
	}
	return all
}

// heal advances the queue, or leaves it to the sweep.
func (q *storedSeqs) heal(ctx context.Context, s *Sorter, event table.StreamEvent) {
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

// storedKey is the queue and seq that a record says are stored; stored is false for a record that
// says nothing of the kind (a deletion).
func storedKey(raw json.RawMessage, names Names) (queue string, seq int64, stored bool, err error) {
	stored, err = readKeys(raw, func(d *ddb.Decoder) {
		queue, seq = d.Text(names.queueKey()), d.Number(names.seqKey())
	})
	return queue, seq, stored, err
}

// readKeys reads the keys of an item of which a record says that it is stored; stored is false for
// a deletion.
func readKeys(raw json.RawMessage, read func(*ddb.Decoder)) (stored bool, err error) {
	record, err := stream.Read(raw)
	if err != nil || record.Removed() {
		return false, err
	}
	keys, err := record.Keys()
	if err != nil {
		return false, err
	}
	d := ddb.Decoder{Item: keys}
	if read(&d); d.Err != nil {
		return false, record.In(fmt.Errorf("keys: %w", d.Err))
	}
	return true, nil
}

var errNoImages = errors.New("stream record has no images: the cursors' stream must show NEW_AND_OLD_IMAGES")

// AdvanceOf is what a record of the cursors' stream moved, and the cursor as it was then; an empty
// range for a record of another change, and for one that only wakes the queue's consumers up. A
// cursor that does not exist means that the record is to be passed over.
func AdvanceOf(raw json.RawMessage, names Names) (cur Cursor, moved Range, err error) {
	return advanceOf(raw, names.withDefaults())
}

// advanceOf returns the cursor after the change as well.
func advanceOf(raw json.RawMessage, names Names) (Cursor, Range, error) {
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
