package main

import (
	"context"
	"log/slog"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/otel"
	"github.com/streamsort/streamsort/pkg/delivery/otel/otlp"
)

// init has process make a span a batch. Where spans cannot be sent, it delivers all the same.
func init() {
	provider, flush, err := otlp.New(context.Background(), "streamsort-process")
	if err != nil {
		slog.Error("no spans are sent", "error", err)
		return
	}
	instrument = func(r *delivery.Reader) error { return deliveryotel.Instrument(r, provider, nil) }
	flushSpans = flush
}
