package cursor

import (
	"context"
	"fmt"
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

// ReadBatch reads the messages with after < seq <= upTo, or as many of them as
// have maxBytes of bodies together; the first one is there however large it is.
// upTo is as with [Sorter.Read]. Where a seq is not stored the error is a
// [MissingError], and the batch what comes before it.
func (s *Sorter) ReadBatch(ctx context.Context, queue string, after, upTo int64, maxBytes int) (Batch, error) {
	cur, _ := s.seen.get(queue)
	return s.readBatch(ctx, cur, queue, after, upTo, maxBytes)
}

// readBatch is ReadBatch where a cursor of the queue is at hand, or the zero
// Cursor.
func (s *Sorter) readBatch(ctx context.Context, cur Cursor, queue string, after, upTo int64, maxBytes int) (Batch, error) {
	batch, size := Batch{Queue: queue, From: after, To: after}, 0
	for m, err := range s.readFrom(ctx, cur, queue, after, upTo) {
		if err != nil {
			return batch, fmt.Errorf("read queue %q: %w", queue, err)
		}
		if batch.To > after && size+len(m.Body) > maxBytes {
			break
		}
		batch.To = m.Seq
		if m.Tombstone != "" {
			batch.Skipped = append(batch.Skipped, m.Seq)
			continue
		}
		batch.Messages = append(batch.Messages, m)
		size += len(m.Body)
	}
	return batch, nil
}
