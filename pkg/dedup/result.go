package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	// rowLimit is what a row may come to: a failed claim pays for the stored row, 1 unit for each
	// KB.
	rowLimit = 1024
	// rowOverhead is what a row has beside keys, messages and the result, by DynamoDB's count and a
	// little more.
	rowOverhead = 360
	// itemLimit is what fits into an item of its own: 400 KB less its key.
	itemLimit = 390 << 10
	// cacheLimit is the largest result that the local cache takes.
	cacheLimit = 32 << 10
)

// place encodes a result and puts it where it belongs. What it returns goes into the row; what lies
// elsewhere is stored when it returns, and belongs to nobody until the row is completed. A result
// that cannot be encoded is omitted, and refused says why. The error is the store's.
func (d *Deduplicator[ID, R]) place(ctx context.Context, o Row, value R,
	expiresOn time.Time) (made placed, err error) {
	encoded, err := encode(value)
	if err != nil {
		made.result.Place = Omitted
		made.refused = invalid.New(invalid.Malformed, "result", "cannot be encoded: "+err.Error())
		return made, nil
	}
	made.result.Codec, made.stored = plain, encoded
	if d.options.CompressOver > 0 && len(encoded) > d.options.CompressOver &&
		len(encoded) <= maxDecoded {
		if short, shorter := d.packer.compress(encoded); shorter {
			made.stored, made.result.Codec = short, compressed
		}
	}
	switch size := len(made.stored); {
	case rowOverhead+len(o.ID)+len(o.Processor)+size <= rowLimit:
		made.result.Bytes = made.stored
	case size <= itemLimit:
		made.result.Place = InItem
		err = d.putResult(ctx, o, &made, expiresOn)
	default:
		made.result.Place = Omitted
		d.options.Logger.WarnContext(ctx, "result omitted: it is too large",
			"id", o.ID, "processor", o.Processor, "bytes", size)
	}
	return made, err
}

// putResult stores a result in an item of its own, or once more, with a later end.
func (d *Deduplicator[ID, R]) putResult(ctx context.Context, o Row, made *placed,
	expiresOn time.Time) error {
	err := d.store.PutResult(ctx,
		StoredResult{Key: o.Key, Token: o.Token, Body: made.stored, ExpiresOn: expiresOn})
	if err == nil {
		made.expiresOn = expiresOn
	}
	return err
}

// placed is a result that was made ready for its row.
type placed struct {
	result Result
	stored []byte
	// refused is why it is not stored, nil where it is.
	refused error
	// expiresOn is when TTL may delete the item of its own.
	expiresOn time.Time
}

// fetch is a completed row with its result's bytes, where there are any: not where the result is
// omitted, or not stored any more.
func (d *Deduplicator[ID, R]) fetch(ctx context.Context, r Row) (remembered, error) {
	found := remembered{row: r}
	switch r.Result.Place {
	case Omitted:
		return found, nil
	case InRow:
		found.stored, found.kept = r.Result.Bytes, !r.Failed
		return found, nil
	case InItem:
		var err error
		found.stored, err = d.resultItem(ctx, r)
		found.kept = err == nil
		return found, err
	}
	err := fmt.Errorf("%q is not a place", r.Result.Place)
	return found, &RowError{Key: r.Key, Field: string(attrResultIn), Err: err}
}

// resultItem reads a result that has an item of its own. The item was there before the row was
// completed, so a strong read finds it; a read at half the price nearly always does.
func (d *Deduplicator[ID, R]) resultItem(ctx context.Context, r Row) ([]byte, error) {
	for _, strong := range []bool{false, true} {
		body, err := d.store.Result(ctx, r.Key, r.Token, strong)
		if err != nil || body != nil {
			return body, err
		}
	}
	return nil, errResultGone
}

var errResultGone = errors.New("the item with the result is gone")

func (d *Deduplicator[ID, R]) decode(r Row, stored []byte) (R, error) {
	var value R
	encoded, err := d.packer.unpack(r.Result.Codec, stored)
	if err != nil {
		return value, &RowError{Key: r.Key, Field: string(attrCodec), Err: err}
	}
	if err := unmarshal(encoded, &value); err != nil {
		var zero R
		return zero, &RowError{Key: r.Key, Field: string(attrResult), Err: err}
	}
	return value, nil
}
