package announce

import (
	"context"
	"log/slog"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/delivery"
)

type consumer struct {
	ID        string      `json:"id"`
	Kind      string      `json:"kind"`
	Queue     string      `json:"queue"`
	Tenant    string      `json:"tenant,omitempty"`
	Consumer  string      `json:"consumer"`
	Delivered jsonseq.Seq `json:"delivered"`
	Position  jsonseq.Seq `json:"position"`
	Since     time.Time   `json:"since"`
	Seconds   float64     `json:"ageSeconds"`
	Claim     *claim      `json:"claim,omitempty"`
	Attempts  int         `json:"attempts,omitempty"`
	Error     string      `json:"error,omitempty"`
}

// claim is a claim in doubt or in quarantine: the seqs from to to, both of them in it.
type claim struct {
	Token string      `json:"token"`
	From  jsonseq.Seq `json:"from"`
	To    jsonseq.Seq `json:"to"`
	State string      `json:"state"`
}

// circuit is the announcement of a consumer's name, whatever the queue.
type circuit struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Consumer string    `json:"consumer"`
	Since    time.Time `json:"since"`
	Seconds  float64   `json:"ageSeconds"`
	Probes   int       `json:"probes,omitempty"`
}

// Consumer announces that a consumer is blocked, lags, lost a message, has a claim of which nobody
// knows the end, or has a sink that is away, or is back.
func (a *Announcer) Consumer(ctx context.Context, said delivery.Announcement) error {
	if said.Kind == "consumer.circuit-open" || said.Kind == "consumer.circuit-closed" {
		d := circuit{said.ID, said.Kind, said.Consumer, said.Since, said.Age.Seconds(), said.Attempts}
		slog.WarnContext(ctx, d.Kind, "id", d.ID, "consumer", d.Consumer, "ageSeconds", d.Seconds,
			"probes", d.Probes)
		return a.send(ctx, d.Kind, d)
	}
	d := consumer{
		ID: said.ID, Kind: said.Kind, Queue: said.Queue, Tenant: of(said.Queue), Consumer: said.Consumer,
		Delivered: jsonseq.Seq(said.Delivered), Position: jsonseq.Seq(said.Position),
		Since: said.Since, Seconds: said.Age.Seconds(), Attempts: said.Attempts, Error: said.Error,
	}
	if said.Token != (delivery.Token{}) {
		d.Claim = &claim{said.Token.String(), jsonseq.Seq(said.From + 1), jsonseq.Seq(said.To),
			string(said.State)}
	}
	slog.WarnContext(ctx, d.Kind, "id", d.ID, "queue", d.Queue, "consumer", d.Consumer,
		"delivered", d.Delivered,
		"position", d.Position, "ageSeconds", d.Seconds, "attempts", d.Attempts, "error", d.Error)
	return a.send(ctx, d.Kind, d)
}
