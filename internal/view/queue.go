package view

import (
	"encoding/json"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// Queue is a queue's status and settings.
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
	GapOpen   bool        `json:"gapOpen"`
	// Parked is how many messages are stored behind a gap; ParkedMore: more of them.
	Parked     int  `json:"parked"`
	ParkedMore bool `json:"parkedMore,omitempty"`

	First    jsonseq.Seq `json:"first"`
	Policy   string      `json:"policy"`
	GapAfter string      `json:"gapAfter"`
	Mode     string      `json:"mode"`
	MaxAhead int64       `json:"maxAhead"`
	// These are a keyed queue's.
	KeyType     string          `json:"keyType,omitempty"`
	Settle      string          `json:"settle,omitempty"`
	Late        string          `json:"late,omitempty"`
	HighKey     json.RawMessage `json:"highKey,omitempty"`
	Waiting     int             `json:"waiting,omitempty"`
	WaitingMore bool            `json:"waitingMore,omitempty"`
	DueAt       time.Time       `json:"dueAt,omitzero"`
	LateSoFar   int64           `json:"lateSoFar,omitempty"`
}
