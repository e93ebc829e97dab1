package announce

import (
	"cmp"
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Listed announces each end by announce, and then has the chain in the list of those that failed or
// timed out, if it did: until its record expires too, which is a tombstone's time after its end,
// the acker's own where that is 0. One write unit, and one of the index, for such a chain.
//
// The announcement waits for no list. Where the row cannot be written the end stays due, and is
// announced again: nobody looks at a chain once it is sealed.
func Listed(rows *trouble.Store, tombstone time.Duration,
	announce xorack.Announce) xorack.Announce {
	return func(ctx context.Context, c xorack.Chain) error {
		if err := announce(ctx, c); err != nil {
			return err
		}
		row, listed := RowOf(c)
		if !listed {
			return nil
		}
		row.ExpiresOn = c.Ended().Add(cmp.Or(tombstone, xorack.DefaultTombstone))
		return rows.Put(ctx, row)
	}
}

// RowOf is the row of a chain, and whether it has one. That of a later chain of the same tag is
// newer.
func RowOf(c xorack.Chain) (trouble.Row, bool) {
	ended := ddb.ToMillis(c.Ended())
	row := trouble.Row{Queue: c.Tag, Since: ended, N: ended.UnixMilli()}
	switch c.End() {
	case xorack.Failed:
		row.State = trouble.Failed
	case xorack.TimedOut:
		row.State = trouble.TimedOut
	}
	return row, row.State != ""
}
