package announce

import (
	"context"
	"log/slog"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// gap is a gap's announcement as readers see it. Seqs are strings where JSON
// readers would round them.
type gap struct {
	ID        string      `json:"id"`
	Kind      string      `json:"kind"`
	Queue     string      `json:"queue"`
	Tenant    string      `json:"tenant,omitempty"`
	After     jsonseq.Seq `json:"missingAfter"`
	UpTo      jsonseq.Seq `json:"missingUpTo"`
	MaxParked jsonseq.Seq `json:"maxParked"`
	Since     *time.Time  `json:"since,omitempty"`
	Seconds   float64     `json:"ageSeconds,omitempty"`
}

// Gap announces what became of a gap.
func (a *Announcer) Gap(ctx context.Context, said cursor.Announcement) error {
	d := gap{
		ID: said.ID, Kind: string(said.Kind), Queue: said.Queue, Tenant: of(said.Queue),
		After: jsonseq.Seq(said.Missing.From), UpTo: jsonseq.Seq(said.Missing.To), MaxParked: jsonseq.Seq(said.MaxParked),
		Seconds: said.Age.Seconds(),
	}
	if !said.Since.IsZero() {
		d.Since = &said.Since
	}
	slog.WarnContext(ctx, d.Kind, "id", d.ID, "queue", d.Queue, "missingAfter", d.After, "missingUpTo", d.UpTo,
		"maxParked", d.MaxParked, "ageSeconds", d.Seconds)
	return a.send(ctx, d.Kind, d)
}
