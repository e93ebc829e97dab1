package view

import (
	"cmp"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// Operation is an entry of the audit log: what an operator asked for.
type Operation struct {
	At       time.Time      `json:"at"`
	ID       printable.Name `json:"id"`
	Action   string         `json:"action"`
	Consumer string         `json:"consumer,omitempty"`
	Seq      *jsonseq.Seq   `json:"seq,omitempty"`
	Reason   printable.Name `json:"reason"`
	// Request is what else was asked for.
	Request map[string]string `json:"request,omitempty"`
	// Who is the zero Who where that was not kept.
	Who     Who            `json:"who,omitzero"`
	Outcome string         `json:"outcome"`
	Error   printable.Name `json:"error,omitempty"`
}

// Who is the caller that asked for an operation.
type Who struct {
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty"`
	Client string `json:"client,omitempty"`
}

// String is who asked, and by which client; "-" where that was not kept.
func (w Who) String() string {
	text := strings.TrimSpace(w.Kind + " " + w.Name)
	if w.Client != "" {
		text += " by " + w.Client
	}
	return cmp.Or(text, "-")
}
