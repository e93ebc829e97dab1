package ddbtest

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
)

// NewStale returns tables in memory of which every read that is not strong shows all items as they
// were before their last changes, from now on. Where only is not nil, it chooses those reads.
func NewStale(tables *ddb.Memory, only func(ddb.Request) bool) ddb.Engine {
	before := past.Of(tables)
	tables.OnChange(before.Note)
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		now := func() (ddb.Answer, error) { return tables.Do(ctx, r) }
		if ddb.Writes(r) || past.IsStrong(r) || only != nil && !only(r) {
			return now()
		}
		if older := before.Older(r, now); len(older) > 0 {
			return older[len(older)-1]()
		}
		return now()
	})
}
