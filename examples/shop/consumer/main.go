// Command consumer is the shop's Lambda function behind the cursors' stream: it gets every queue's
// messages in order. AddConsumer sets its environment.
package main

import (
	"context"
	"log/slog"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/deliverylambda"
)

func main() { deliverylambda.Start("books", book) }

// book is where the shop's own work would be. An error redelivers the batch.
func book(ctx context.Context, batch delivery.Batch) error {
	for _, m := range batch.Messages { // in order, without a gap
		slog.InfoContext(ctx, "booked", "queue", m.Queue, "seq", m.Seq, "bytes", len(m.Body))
	}
	return nil
}
