package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"

	"github.com/streamsort/streamsort/pkg/delivery"
)

// seen is what the log says of a message: never the payload.
type seen struct {
	Seq    int64  `json:"seq"`
	ID     string `json:"id,omitempty"`
	SHA256 string `json:"sha256"`
}

// handle is called with each queue's messages in order. This is where your own work goes; here, one
// line of the log says what came.
//
// A batch can come again, in whole or in part, after a crash: then its token's number is higher. An
// error has it tried again, in the end one message alone.
func handle(ctx context.Context, batch delivery.Batch) error {
	messages := make([]seen, len(batch.Messages))
	for i, m := range batch.Messages {
		hash := sha256.Sum256(m.Body)
		messages[i] = seen{m.Seq, m.ID, hex.EncodeToString(hash[:])}
	}
	slog.InfoContext(ctx, "batch", "queue", batch.Queue, "from", batch.From, "to", batch.To,
		"token", batch.Token.N,
		"messages", messages, "skipped", batch.Skipped)
	return nil
}
