package cursor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// StreamEvent is what Lambda hands to a function behind a DynamoDB stream.
// Records are decoded one by one, so that a record that cannot be read fails
// alone.
type StreamEvent struct {
	Records []json.RawMessage `json:"Records"`
}

// streamRecord is the part of a record that is read here.
type streamRecord struct {
	EventName string `json:"eventName"`
	Change    struct {
		SequenceNumber string          `json:"SequenceNumber"`
		Keys           json.RawMessage `json:"Keys"`
		NewImage       json.RawMessage `json:"NewImage"`
		OldImage       json.RawMessage `json:"OldImage"`
	} `json:"dynamodb"`
}

// image decodes an image or the keys; none where the record has none.
func image(raw json.RawMessage) (ddb.Item, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return ddb.Item{}, nil
	}
	it, err := attributevalue.UnmarshalMapJSON(raw)
	return dynamo.FromSDK(it), err
}

// FailedAt is the answer that makes Lambda repeat a batch from this record on,
// for the handlers of this project. A record without a sequence number cannot be named: the error then fails
// the whole batch.
func FailedAt(raw json.RawMessage, cause error) (events.DynamoDBEventResponse, error) {
	var record streamRecord
	// What can be read of a broken record is enough to name it.
	_ = json.Unmarshal(raw, &record)
	if record.Change.SequenceNumber == "" {
		return events.DynamoDBEventResponse{}, fmt.Errorf("record without a sequence number: %w", cause)
	}
	return events.DynamoDBEventResponse{
		BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: record.Change.SequenceNumber}},
	}, nil
}

// OnMessagesOptions are what a handler of the messages' stream tells of its work.
// A nil OnMessagesOptions means nobody is told.
type OnMessagesOptions struct {
	// Advanced is told what became of each queue that a batch names; nil means
	// nobody.
	Advanced func(Advance)
	// Failed is told why a record, or its queue, failed; nil means nobody.
	Failed func(error)
}

// OnMessages returns the handler for the stream of the messages table: it
// heals every queue that a record names, once a batch. In asynchronous mode
// that is what moves the cursors.
//
// A queue that fails keeps no other queue of the batch back; the batch is
// repeated from the first record of such a queue on, which does no harm to the
// others.
func OnMessages(s *Sorter, names Names, options *OnMessagesOptions) func(context.Context, StreamEvent) (events.DynamoDBEventResponse, error) {
	if options == nil {
		options = &OnMessagesOptions{}
	}
	names = names.withDefaults()
	return func(ctx context.Context, event StreamEvent) (events.DynamoDBEventResponse, error) {
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
		return FailedAt(event.Records[lowest.first], lowest.err)
	}
}

// storedKey is the queue and seq that a record says are stored; stored is
// false for a record that says nothing of the kind (a deletion).
func storedKey(raw json.RawMessage, names Names) (queue string, seq int64, stored bool, err error) {
	var record streamRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		return "", 0, false, fmt.Errorf("stream record: %w", err)
	}
	if record.EventName == "REMOVE" {
		return "", 0, false, nil
	}
	keys, err := image(record.Change.Keys)
	if err != nil {
		return "", 0, false, fmt.Errorf("keys of stream record %s: %w", record.Change.SequenceNumber, err)
	}
	d := ddb.Decoder{Item: keys}
	queue, seq = d.Text(names.queueKey()), d.Number(names.seqKey())
	if d.Err != nil {
		return "", 0, false, fmt.Errorf("keys of stream record %s: %w", record.Change.SequenceNumber, d.Err)
	}
	return queue, seq, true, nil
}

// Bounds of a Batch. A longer advance is handed on in several.
const (
	MaxBatchMessages = 500
	MaxBatchBytes    = 4 << 20
)

// Batch is a part of a queue, in order and without a gap.
type Batch struct {
	Queue string
	// From and To: the batch is the seqs From < seq <= To.
	From, To int64
	// Messages are the messages of the range, in order; the skipped seqs are
	// not among them.
	Messages []Message
	// Skipped are the seqs of the range that will never come.
	Skipped []int64
}

// OnStreamOptions are what a handler of the cursors' stream tells of its work. A nil
// OnStreamOptions means nobody is told.
type OnStreamOptions struct {
	// Failed is told why a record failed; nil means nobody.
	Failed func(error)
}

// OnStream returns the handler for the stream of the cursors table: for every
// advance it reads the messages and hands them on in order, in batches of at
// most 500 messages and 4 MB of bodies. It keeps no state: an advance that
// fails, or whose answer is lost, is handed on again as a whole, and one that
// the stream drops is not handed on at all.
//
//	lambda.Start(cursor.OnStream(sorter, cursor.Names{}, handle, nil))
//
// The event source mapping must have ReportBatchItemFailures on.
func OnStream(s *Sorter, names Names, handle func(context.Context, Batch) error, options *OnStreamOptions) func(context.Context, StreamEvent) (events.DynamoDBEventResponse, error) {
	names = names.withDefaults()
	return func(ctx context.Context, event StreamEvent) (events.DynamoDBEventResponse, error) {
		for _, raw := range event.Records {
			cur, moved, err := advanceOf(raw, names)
			if err == nil && moved.To > moved.From {
				err = s.handOn(ctx, cur, moved, handle)
			}
			if err != nil {
				if options != nil && options.Failed != nil {
					options.Failed(err)
				}
				return FailedAt(raw, err)
			}
		}
		return events.DynamoDBEventResponse{}, nil
	}
}

// handOn reads a range and hands it on in batches.
func (s *Sorter) handOn(ctx context.Context, cur Cursor, moved Range, handle func(context.Context, Batch) error) error {
	queue := cur.Queue
	batch, size := Batch{Queue: queue, From: moved.From, To: moved.From}, 0
	for m, err := range s.readFrom(ctx, cur, queue, moved.From, moved.To) {
		if err != nil {
			return fmt.Errorf("queue %q: %w", queue, err)
		}
		if len(batch.Messages) == MaxBatchMessages || size > 0 && size+len(m.Body) > MaxBatchBytes {
			if err := handle(ctx, batch); err != nil {
				return err
			}
			batch, size = Batch{Queue: queue, From: batch.To, To: batch.To}, 0
		}
		batch.To = m.Seq
		if m.Tombstone != "" {
			batch.Skipped = append(batch.Skipped, m.Seq)
			continue
		}
		batch.Messages = append(batch.Messages, m)
		size += len(m.Body)
	}
	return handle(ctx, batch)
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
	var record streamRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		return Cursor{}, Range{}, fmt.Errorf("stream record: %w", err)
	}
	if record.EventName == "REMOVE" {
		return Cursor{}, Range{}, nil
	}
	inRecord := func(err error) error {
		return fmt.Errorf("stream record %s: %w", record.Change.SequenceNumber, err)
	}
	newer, err := image(record.Change.NewImage)
	if err != nil {
		return Cursor{}, Range{}, inRecord(err)
	}
	older, err := image(record.Change.OldImage)
	if err != nil {
		return Cursor{}, Range{}, inRecord(err)
	}
	if !newer.Exists() || !older.Exists() && record.EventName == "MODIFY" {
		return Cursor{}, Range{}, inRecord(errNoImages)
	}
	to, err := decodeCursor(newer, names)
	if err != nil {
		return Cursor{}, Range{}, inRecord(err)
	}
	from := to.Settings.First - 1
	if older.Exists() {
		c, err := decodeCursor(older, names)
		if err != nil {
			return Cursor{}, Range{}, inRecord(err)
		}
		from = c.Position
	}
	return to, Range{from, to.Position}, nil
}
