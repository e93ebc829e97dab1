package announce

import (
	"context"
	"log/slog"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// consumer is a consumer's announcement as readers see it.
type consumer struct {
	ID        string      `json:"id"`
	Kind      string      `json:"kind"`
	Queue     string      `json:"queue"`
	Consumer  string      `json:"consumer"`
	Delivered jsonseq.Seq `json:"delivered"`
	Position  jsonseq.Seq `json:"position"`
	Since     time.Time   `json:"since"`
	Seconds   float64     `json:"ageSeconds"`
	Attempts  int         `json:"attempts,omitempty"`
	Error     string      `json:"error,omitempty"`
}

// Consumer announces that a consumer is blocked, lags, or lost a message.
func (a *Announcer) Consumer(ctx context.Context, said handoff.Announcement) error {
	d := consumer{
		ID: said.ID, Kind: string(said.Kind), Queue: said.Queue, Consumer: said.Consumer,
		Delivered: jsonseq.Seq(said.Delivered), Position: jsonseq.Seq(said.Position),
		Since: said.Since, Seconds: said.Age.Seconds(), Attempts: said.Attempts, Error: said.Error,
	}
	slog.WarnContext(ctx, d.Kind, "id", d.ID, "queue", d.Queue, "consumer", d.Consumer, "delivered", d.Delivered,
		"position", d.Position, "ageSeconds", d.Seconds, "attempts", d.Attempts, "error", d.Error)
	return a.send(ctx, d.Kind, d)
}
