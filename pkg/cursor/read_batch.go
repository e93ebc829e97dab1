package cursor

import (
	"context"
	"errors"
	"fmt"
)

// Batch is a part of a queue, in order and without a gap.
type Batch struct {
	Queue string
	// From and To: the batch is the seqs From < seq <= To.
	From, To int64
	// Messages are the messages of the range, in order; the skipped seqs are not among them.
	Messages []Message
	// Skipped are the seqs of the range that will never come.
	Skipped []int64
}

// Bound is how many bytes the messages of a batch have at most together, each as many as Of counts;
// nil means those of its body.
type Bound struct {
	Bytes int
	Of    func(Message) int
}

// ReadBatchAt reads the messages with after < seq <= upTo, or as many of them as are within all
// bounds together; the first one is there however large it is. upTo is as with [Sorter.Read]. Where
// a seq is not stored the error is a [MissingError], and the batch what comes before it.
//
// A cursor of the queue that is at hand, such as that of a record ([AdvanceOf]), or the zero
// Cursor: however old it is, it saves a strong read of the cursor where that is needed and its
// position is upTo or more: what it says of seqs that it is past is so for ever.
func (s inside) ReadBatchAt(ctx context.Context, cur Cursor, queue string, after, upTo int64,
	bounds ...Bound) (Batch, error) {
	if seen, ok := s.seen.get(queue); ok && seen.Position >= upTo || !cur.Exists() || cur.Erased() {
		return s.readBatch(ctx, seen, queue, after, upTo, bounds...)
	}
	batch, err := s.readBatch(ctx, cur, queue, after, upTo, bounds...)
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		// A queue that was erased since misses nothing.
		if _, gone := s.readCursor(ctx, queue); errors.Is(gone, ErrErased) {
			err = gone
		}
	}
	return batch, err
}

// readBatch is ReadBatchAt where a cursor of the queue is at hand, or the zero Cursor.
func (s *Sorter) readBatch(ctx context.Context, cur Cursor, queue string, after, upTo int64,
	bounds ...Bound) (Batch, error) {
	batch, totals := Batch{Queue: queue, From: after, To: after}, make([]int, len(bounds))
	for m, err := range s.readFrom(ctx, cur, queue, after, upTo) {
		if err != nil {
			return batch, fmt.Errorf("read queue %q: %w", queue, err)
		}
		full := false
		for i, b := range bounds {
			size := len(m.Body)
			if b.Of != nil {
				size = b.Of(m)
			}
			totals[i] += size
			full = full || totals[i] > b.Bytes
		}
		if full && batch.To > after {
			break
		}
		batch.To = m.Seq
		if m.Tombstone != "" {
			batch.Skipped = append(batch.Skipped, m.Seq)
			continue
		}
		batch.Messages = append(batch.Messages, m)
	}
	return batch, nil
}
