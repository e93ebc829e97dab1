package delivery

import (
	"context"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// plan is how a consumer's next batch is read.
type plan struct {
	Sorter *cursor.Sorter
	Queue  string
	// Cursor is one that the queue had, where it is at hand.
	Cursor cursor.Cursor
	// Position is the last seq to read.
	Position              int64
	MaxMessages, MaxBytes int
	// MaxAttempts is how often a message is tried alone before its consumer is blocked; 0 where it
	// never is.
	MaxAttempts int
	// Bad tells that the last batch could not be delivered as it was, however often.
	Bad bool
	// Answer is a bound beside MaxBytes, which is of the bodies; nil means no bound.
	Answer *cursor.Bound
}

// next reads what comes behind a seq: as many messages as fit, and fewer where earlier attempts
// failed. It is a *cursor.MissingError where the first one is not there.
func (r plan) next(ctx context.Context, after, isolateTo int64,
	attempts int) (cursor.Batch, error) {
	limit := r.width(isolateTo-after, attempts)
	upTo := after + min(r.Position-after, limit)
	bounds := []cursor.Bound{{Bytes: r.MaxBytes}}
	if r.Answer != nil {
		bounds = append(bounds, *r.Answer)
	}
	got, err := r.Sorter.Inside(queuelog.Inside{}).ReadBatchAt(ctx, r.Cursor,
		r.Queue, after, upTo, bounds...)
	if isA[*cursor.MissingError](err) && got.To > after {
		err = nil
	}
	return got, err
}

// width is how many seqs the next claim has at most, where one of so many that come next may be a
// bad message. A batch that failed once comes again as it was: its sink was away, or its process
// died, most often not because of a message. After that it comes by halves, and so do those behind
// it, until the message that fails is alone: after one attempt less than it has alone, at the
// latest, for each may cost the lease of a worker that dies.
func (r plan) width(suspects int64, attempts int) int64 {
	all := int64(r.MaxMessages)
	switch {
	case attempts == 0 && suspects <= 0:
		return all
	case r.MaxAttempts > 0 && attempts+1 >= r.MaxAttempts:
		return 1
	case attempts == 1 && !r.Bad:
		return min(all, max(suspects, 1))
	}
	return min(all, max(suspects/2, 1))
}
