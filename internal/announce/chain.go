package announce

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
)

type chain struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	Tag        string     `json:"tag"`
	Tenant     string     `json:"tenant,omitempty"`
	Outcome    string     `json:"outcome"`
	Reason     string     `json:"reason,omitempty"`
	Operation  string     `json:"operation,omitempty"`
	Edges      int64      `json:"edges"`
	EdgesEnded int        `json:"edgesEnded"`
	CreatedAt  *time.Time `json:"createdAt,omitempty"`
	EndedAt    time.Time  `json:"endedAt"`
	Seconds    float64    `json:"ageSeconds"`
}

// newChain is the document of an end. Its kind is "chain.done", "chain.failed", "chain.timed-out"
// or "chain.deleted".
func newChain(c xorack.Chain) chain {
	d := chain{
		ID: c.EventID(), Kind: "chain." + strings.ReplaceAll(strings.ToLower(string(c.End())), "_", "-"),
		Tag: c.Tag, Tenant: of(c.Tag), Outcome: string(c.End()), Reason: c.Reason, Edges: c.Edges,
		EdgesEnded: c.EdgesEnded(),
		EndedAt:    c.Ended(), Seconds: c.Age(c.Ended()).Seconds(),
	}
	if c.IsCreated() {
		d.CreatedAt = &c.Created
	}
	if c.End() == xorack.Done || c.End() == xorack.Failed {
		// The mark of the edge that was the last, or that failed.
		d.Operation = c.LastOp.String()
	}
	if c.HasStamps() {
		d.Operation = ""
	}
	return d
}

// Chain announces how a chain ended.
func (a *Announcer) Chain(ctx context.Context, c xorack.Chain) error {
	d := newChain(c)
	slog.InfoContext(ctx, d.Kind, "id", d.ID, "tag", d.Tag, "edges", d.Edges, "edgesEnded",
		d.EdgesEnded, "ageSeconds", d.Seconds)
	return a.send(ctx, d.Kind, d)
}

// Batches logs the end of each tracked batch's chain whose work was not done, as [Announcer.Chain]
// does: it is published nowhere else, since the batch comes again. Then it calls end, which handles
// every end.
func Batches(end xorack.Announce) xorack.Announce {
	return func(ctx context.Context, c xorack.Chain) error {
		if request.TracksBatch(c.Tag) && c.End() != xorack.Done {
			d := newChain(c)
			consumer, queue, _ := strings.Cut(c.Data, "/")
			slog.WarnContext(ctx, d.Kind, "id", d.ID, "tag", d.Tag, "queue", queue, "consumer", consumer,
				"edges", d.Edges, "edgesEnded", d.EdgesEnded, "ageSeconds", d.Seconds)
		}
		return end(ctx, c)
	}
}

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
