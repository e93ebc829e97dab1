package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// rowLimit is what a row may come to: a failed claim pays for the row that
	// stands there, 1 unit for each KB.
	rowLimit = 1024
	// rowOverhead is what a row has beside keys, messages and the result, by
	// DynamoDB's count and a little more.
	rowOverhead = 360
	// itemLimit is what fits into an item of its own: 400 KB less its key.
	itemLimit = 390 << 10
	// cacheLimit is the largest result that the local cache takes.
	cacheLimit = 32 << 10
)

// overflowKey is where a result of this claim lies in the overflow store.
func overflowKey(t Token) string { return "streamsort-" + t.String()[:2] + "/" + t.String()[2:] }

// place encodes a result and puts it where it belongs. What it returns goes
// into the row; what lies elsewhere is stored when it returns, and belongs to
// nobody until the row is completed. A result that cannot be encoded is
// omitted, with an [InvalidError].
func (d *Deduplicator[ID, R]) place(ctx context.Context, o Owner, value R, expiresOn time.Time) (Result, []byte, error) {
	encoded, err := d.options.Codec.Marshal(value)
	if err != nil {
		return Result{Place: Omitted}, nil, &InvalidError{Field: "result", Problem: "cannot be encoded: " + err.Error()}
	}
	result, stored := Result{Codec: d.options.Codec.Name()}, encoded
	if d.options.CompressOver > 0 && len(encoded) > d.options.CompressOver {
		if short, shorter := d.packer.compress(encoded); shorter {
			stored, result.Codec = short, result.Codec+compressed
		}
	}
	switch {
	case rowOverhead+len(o.ID)+len(o.Processor)+len(stored) <= rowLimit:
		result.Bytes = stored
	case len(stored) <= itemLimit:
		result.Place = InItem
		err = d.store.PutResult(ctx, StoredResult{Key: o.Key, Token: o.Token, Body: stored, ExpiresOn: expiresOn})
	case d.options.Overflow != nil:
		result.Place = InOverflow
		err = d.options.Overflow.Put(ctx, overflowKey(o.Token), stored)
	default:
		result.Place = Omitted
		d.options.Logger.WarnContext(ctx, "result omitted: it is too large", "id", o.ID, "processor", o.Processor, "bytes", len(stored))
	}
	return result, stored, err
}

// fetch is a completed row with its result's bytes, where there are any: not
// where the result is omitted, or not kept any more.
func (d *Deduplicator[ID, R]) fetch(ctx context.Context, r Row) (remembered, error) {
	found := remembered{row: r}
	if r.Failed || !r.Result.Until.IsZero() && !r.Result.Until.After(d.options.Now()) {
		return found, nil
	}
	switch r.Result.Place {
	case Omitted:
		return found, nil
	case InRow:
		found.stored, found.kept = r.Result.Bytes, true
		return found, nil
	case InItem:
		var err error
		found.stored, found.kept, err = d.resultItem(ctx, r)
		return found, err
	case InOverflow:
		if d.options.Overflow == nil {
			return found, &RowError{Key: r.Key, Field: attrResultIn, Err: errors.New("the result is in an overflow store, and none is given")}
		}
		body, err := d.options.Overflow.Get(ctx, overflowKey(r.Token))
		if err != nil {
			return found, fmt.Errorf("%s: overflow store: %w", r.Key, err)
		}
		found.stored, found.kept = body, true
		return found, nil
	}
	return found, &RowError{Key: r.Key, Field: attrResultIn, Err: fmt.Errorf("%q is not a place", r.Result.Place)}
}

// resultItem reads a result that has an item of its own. The item was there
// before the row was completed, so a strong read finds it; a read at half the
// price nearly always does.
func (d *Deduplicator[ID, R]) resultItem(ctx context.Context, r Row) ([]byte, bool, error) {
	for _, strong := range []bool{false, true} {
		body, found, err := d.store.Result(ctx, r.Key, r.Token, strong)
		if err != nil || found {
			return body, found, err
		}
	}
	return nil, false, errResultGone
}

var errResultGone = errors.New("the item with the result is gone")

// decode is a stored result as a value.
func (d *Deduplicator[ID, R]) decode(r Row, stored []byte) (R, error) {
	var value R
	encoded, err := d.packer.unpack(d.options.Codec, r.Result.Codec, stored)
	if err != nil {
		return value, &RowError{Key: r.Key, Field: attrCodec, Err: err}
	}
	if err := d.options.Codec.Unmarshal(encoded, &value); err != nil {
		var zero R
		return zero, &RowError{Key: r.Key, Field: attrResult, Err: err}
	}
	return value, nil
}
