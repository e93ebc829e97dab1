package announce

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// gap is a gap's announcement as readers see it. Seqs are strings where JSON readers would round
// them.
type gap struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Queue  string `json:"queue"`
	Tenant string `json:"tenant,omitempty"`
	seqs
	MaxParked jsonseq.Seq `json:"maxParked"`
	Skipped   []seqs      `json:"skipped,omitempty"`
	Since     *time.Time  `json:"since,omitempty"`
	Seconds   float64     `json:"ageSeconds,omitempty"`
}

type seqs struct {
	After jsonseq.Seq `json:"missingAfter"`
	UpTo  jsonseq.Seq `json:"missingUpTo"`
}

// late is the announcement of late messages as readers see it: how many there were since the last
// one, or in a row, and the last few of them.
type late struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Queue    string    `json:"queue"`
	Tenant   string    `json:"tenant,omitempty"`
	Count    int64     `json:"count"`
	Examples []example `json:"examples"`
}

type example struct {
	Seq     jsonseq.Seq     `json:"seq"`
	Key     json.RawMessage `json:"key"`
	Dropped bool            `json:"dropped"`
}

// Queue announces what became of a gap, or that messages of a keyed queue were late.
func (a *Announcer) Queue(ctx context.Context, said cursor.Announcement) error {
	switch said.Kind {
	case cursor.MessageLate, cursor.KeysBehind:
		return a.late(ctx, said)
	}
	return a.gap(ctx, said)
}

func (a *Announcer) late(ctx context.Context, said cursor.Announcement) error {
	d := late{
		ID: said.ID, Kind: string(said.Kind), Queue: said.Queue, Tenant: of(said.Queue), Count: said.Late,
		Examples: []example{},
	}
	for _, m := range said.LateExamples {
		d.Examples = append(d.Examples, example{jsonseq.Seq(m.Seq), m.Key.JSON(), m.Dropped})
	}
	slog.WarnContext(ctx, d.Kind, "id", d.ID, "queue", d.Queue, "count",
		d.Count, "examples", d.Examples)
	return a.send(ctx, d.Kind, d)
}

func (a *Announcer) gap(ctx context.Context, said cursor.Announcement) error {
	d := gap{
		ID: said.ID, Kind: string(said.Kind), Queue: said.Queue, Tenant: of(said.Queue),
		seqs:      seqs{jsonseq.Seq(said.Missing.From), jsonseq.Seq(said.Missing.To)},
		MaxParked: jsonseq.Seq(said.MaxParked), Seconds: said.Age.Seconds(),
	}
	for _, run := range said.Skipped {
		d.Skipped = append(d.Skipped, seqs{jsonseq.Seq(run.From), jsonseq.Seq(run.To)})
	}
	if !said.Since.IsZero() {
		d.Since = &said.Since
	}
	slog.WarnContext(ctx, d.Kind, "id", d.ID, "queue", d.Queue, "missingAfter",
		d.After, "missingUpTo", d.UpTo,
		"maxParked", d.MaxParked, "skipped", len(d.Skipped), "ageSeconds", d.Seconds)
	return a.send(ctx, d.Kind, d)
}
