package cursor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/stream"
	"github.com/streamsort/streamsort/pkg/table"
)

// OnMessagesOptions are what a handler of the messages' stream reports of its work.
// A nil OnMessagesOptions reports nothing.
type OnMessagesOptions struct {
	// Advanced is called with the result for each queue that a batch names; nil:
	// nothing is called.
	Advanced func(Advance)
	// Failed is called with the reason why a record, or its queue, failed.
	Failed func(error)
}

// OnMessages returns the handler for the stream of the messages table: it
// advances every queue that a record names, once a batch. In asynchronous mode
// that is what moves the cursors.
//
// A queue that fails keeps no other queue of the batch back; the batch is
// repeated from the first record of such a queue on, which does no harm to the
// others.
func OnMessages(s *Sorter, names Names, options *OnMessagesOptions) func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error) {
	if options == nil {
		options = &OnMessagesOptions{}
	}
	names = names.withDefaults()
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		type batch struct {
			queue string
			first int
			seqs  []int64
			err   error
			done  Advance
		}
		var batches []*batch
		byQueue := map[string]*batch{}
		for i, raw := range event.Records {
			queue, seq, stored, err := storedKey(raw, names)
			if !stored && err == nil {
				continue
			}
			if err != nil {
				batches = append(batches, &batch{first: i, err: err})
				continue
			}
			b := byQueue[queue]
			if b == nil {
				b = &batch{queue: queue, first: i}
				byQueue[queue] = b
				batches = append(batches, b)
			}
			b.seqs = append(b.seqs, seq)
		}
		s.forEach(len(batches), func(i int) {
			if b := batches[i]; b.err == nil {
				b.done, b.err = s.Heal(ctx, b.queue, b.seqs...)
			}
		})
		var lowest *batch
		for _, b := range batches {
			if b.err == nil {
				if options.Advanced != nil {
					options.Advanced(b.done)
				}
				continue
			}
			if options.Failed != nil {
				options.Failed(b.err)
			}
			if lowest == nil || b.first < lowest.first {
				lowest = b
			}
		}
		if lowest == nil {
			return events.DynamoDBEventResponse{}, nil
		}
		return stream.FailedAt(event.Records[lowest.first], lowest.err)
	}
}

// storedKey is the queue and seq that a record says are stored; stored is
// false for a record that says nothing of the kind (a deletion).
func storedKey(raw json.RawMessage, names Names) (queue string, seq int64, stored bool, err error) {
	record, err := stream.Read(raw)
	if err != nil || record.Removed() {
		return "", 0, false, err
	}
	keys, err := record.Keys()
	if err != nil {
		return "", 0, false, err
	}
	d := ddb.Decoder{Item: keys}
	queue, seq = d.Text(names.queueKey()), d.Number(names.seqKey())
	if d.Err != nil {
		return "", 0, false, record.In(fmt.Errorf("keys: %w", d.Err))
	}
	return queue, seq, true, nil
}

var errNoImages = errors.New("stream record has no images: the cursors' stream must show NEW_AND_OLD_IMAGES")

// AdvanceOf is what a record of the cursors' stream moved; an empty range for
// a record of another change, and for one that only wakes the queue's consumers
// up. An empty queue means that the record is to be passed over.
func AdvanceOf(raw json.RawMessage, names Names) (queue string, moved Range, err error) {
	cur, moved, err := advanceOf(raw, names.withDefaults())
	return cur.Queue, moved, err
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
