package record

import (
	"context"
	"errors"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// Reading is how a consumer's next batch is read.
type Reading struct {
	Sorter *cursor.Sorter
	Queue  string
	// Position is the last seq to read.
	Position              int64
	MaxMessages, MaxBytes int
	// Answer is a bound beside MaxBytes, which is of the bodies; nil is none.
	Answer *cursor.Bound
}

// Next reads what comes behind a seq: as many messages as fit, and one where an
// earlier attempt failed. It is a *cursor.MissingError where the first one is not
// there.
func (r Reading) Next(ctx context.Context, after, singleTo int64, attempts int) (cursor.Batch, error) {
	limit := int64(r.MaxMessages)
	if attempts > 0 || after < singleTo {
		limit = 1
	}
	upTo := r.Position
	if upTo-after > limit {
		upTo = after + limit
	}
	bounds := []cursor.Bound{{Bytes: r.MaxBytes}}
	if r.Answer != nil {
		bounds = append(bounds, *r.Answer)
	}
	got, err := r.Sorter.ReadBatch(ctx, r.Queue, after, upTo, bounds...)
	var missing *cursor.MissingError
	if errors.As(err, &missing) && got.To > after {
		err = nil
	}
	return got, err
}
