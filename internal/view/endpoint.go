package view

import (
	"time"

	"github.com/streamsort/streamsort/internal/printable"
)

// Endpoint is where a consumer's webhooks go to: no secret but one that was just made.
type Endpoint struct {
	Status   int    `json:"status,omitempty"`
	Consumer string `json:"consumer"`
	// Queue is the queue whose webhooks go there; else Prefix, of many queues, is not nil.
	Queue  printable.Name  `json:"queue,omitempty"`
	Prefix *printable.Name `json:"prefix,omitempty"`
	URL    string          `json:"url"`
	// Secret is shown once.
	Secret string `json:"secret,omitempty"`
	// OldSecretUntil is until when requests are signed with the secret of before too.
	OldSecretUntil time.Time `json:"oldSecretUntil,omitzero"`
	Paused         *Pause    `json:"paused,omitempty"`
	At             time.Time `json:"at"`
}
