package view

import (
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// Queue is what a queue's status says of its state, beside its settings.
type Queue struct {
	Queue printable.Name `json:"queue"`
	Kind  string         `json:"kind"`
	// State is Gap or OK. Seq is the first message that is missing.
	State    State        `json:"state"`
	Seq      *jsonseq.Seq `json:"seq,omitempty"`
	Position jsonseq.Seq  `json:"position"`
	// MaxParked is the greatest seq that is stored behind a gap.
	MaxParked jsonseq.Seq `json:"maxParked"`
	GapSince  time.Time   `json:"gapSince,omitzero"`
	GapAge    float64     `json:"gapAgeSeconds,omitempty"`
}
