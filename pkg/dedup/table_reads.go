package dedup

import (
	"context"
	"errors"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Decode is an item of the table as a row; the zero Row for none. The error is a [RowError].
func (t *rowTable) Decode(it ddb.Item) (Row, error) { return ddb.Decoded(it, decodeRow) }

// Row implements [Store]: one GetItem; 1 read unit strong, half a unit otherwise.
func (t *rowTable) Row(ctx context.Context, k Key, strong bool) (Row, error) {
	a, err := t.engine.Do(ctx, ddb.Get{Op: t.op("read"), Key: k.item(), Strong: strong})
	if err != nil {
		return Row{}, err
	}
	return t.Decode(a.Item)
}

// pageSize is how many items one request of Rows looks at.
const pageSize = 500

// Rows implements [Store]: one Scan, eventually consistent; half a unit for each 4 KB that are
// looked at, about 15 rows; results count with them.
func (t *rowTable) Rows(ctx context.Context, after string) (RowPage, error) {
	request := ddb.Scan{Op: t.op("list"), Limit: pageSize, Filter: attrResultOf.Missing()}
	if after != "" {
		k, ok := splitKey(after)
		if !ok {
			return RowPage{}, invalid.New(invalid.Malformed, "after", "is not where a page ended")
		}
		request.After = k.item()
	}
	a, err := t.engine.Do(ctx, request)
	if err != nil {
		return RowPage{}, err
	}
	var page RowPage
	for _, it := range a.Items {
		r, err := t.Decode(it)
		if broken, ok := errors.AsType[*RowError](err); ok {
			page.Broken = append(page.Broken, *broken)
			continue
		}
		page.Rows = append(page.Rows, r)
	}
	if a.Next.Exists() {
		k, err := decodeKey(a.Next)
		if err != nil {
			return RowPage{}, err
		}
		page.Next = k.joined()
	}
	return page, nil
}

// Result implements [Store]: one GetItem; 1 read unit for each 4 KB strong, half a unit otherwise.
func (t *rowTable) Result(ctx context.Context, k Key, token Token, strong bool) ([]byte, error) {
	a, err := t.engine.Do(ctx, ddb.Get{Op: t.op("get result"), Key: resultItem(k, token),
		Strong: strong})
	if err != nil || !a.Item.Exists() {
		return nil, err
	}
	d := ddb.Decoder{Item: a.Item}
	d.Layout(attrVersion, layout)
	body := d.BytesOr(attrResult)
	if d.Err != nil {
		return nil, &RowError{Key: k, Field: string(d.Failed), Err: d.Err}
	}
	return body, nil
}
