package announce

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/request"
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
