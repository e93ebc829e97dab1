package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// handler returns the handler, which takes a batch of records and returns the first one that has to
// be repeated; delivers what was moved to eager consumers; or delivers a queue that would have held
// up others, if its tenant has a place for that. The Deliverer must report what it does to seen.
func handler(d *delivery.Deliverer, names cursor.Names, seen *observer, readers []delivery.Reader,
	bound *share) (
	func(context.Context, *emf.Metrics, call) (events.DynamoDBEventResponse, error), error) {
	for i := range readers {
		readers[i].Handed = seen.handed
		if err := instrument(&readers[i]); err != nil {
			return nil, err
		}
	}
	deliver, err := delivery.OnStream(d, names, readers...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, metrics *emf.Metrics,
		event call) (events.DynamoDBEventResponse, error) {
		seen.metrics.Store(metrics)
		defer flushSpans(ctx)
		if len(event.Deliver) > 0 {
			positions := map[string]int64{}
			var failed []error
			for _, q := range event.Deliver {
				if q.Consumer == "" {
					positions[q.Queue] = max(positions[q.Queue], q.Position)
				} else {
					failed = append(failed, func() error {
						end, taken := bound.take(ctx, metrics, q)
						defer end()
						if !taken {
							return nil
						}
						return deliverAside(ctx, d, readers, q)
					}())
				}
			}
			d.Inside(request.Inside{}).DeliverMoved(ctx, positions, readers...)
			return events.DynamoDBEventResponse{}, errors.Join(failed...)
		}
		response, err := deliver(ctx, event.StreamEvent)
		if err != nil {
			slog.ErrorContext(ctx, "the batch of records failed", "error", err)
		}
		return response, err
	}, nil
}

// observer counts and logs what becomes of deliveries.
type observer struct {
	// log names the queue whose deliveries are all logged.
	log calllog.Log
	// metrics are those of the invocation: a process has one at a time.
	metrics atomic.Pointer[emf.Metrics]
}

const maxTraces = 20

// handed logs when a batch was delivered, where its queue is watched, or the sender of one of its
// messages records that message's trace: those traces are named.
func (o *observer) handed(h delivery.Handed) {
	var traces []string
	for _, m := range h.Batch.Messages {
		if id := m.Trace.ID(); m.Trace.Sampled() && len(traces) < maxTraces &&
			!slices.Contains(traces, id) {
			traces = append(traces, id)
		}
	}
	if len(traces) == 0 && o.log.Watched() != h.Batch.Queue {
		return
	}
	fields := []any{
		"queue", h.Batch.Queue, "consumer", h.Batch.Consumer, "from", h.Batch.From + 1, "to", h.Batch.To, "token", h.Batch.Token.String(), "attempt", h.Batch.Attempt,
		"claimedAt", h.Claimed.UTC().Format(time.RFC3339Nano), "returnedAt", h.Returned.UTC().Format(time.RFC3339Nano), "failed", h.Err != nil,
	}
	if !h.Committed.IsZero() {
		fields = append(fields, "committedAt", h.Committed.UTC().Format(time.RFC3339Nano))
	}
	if len(traces) > 0 {
		fields = append(fields, "traces", traces)
	}
	slog.Info("delivery", fields...)
}

// delivery logs and counts how a delivery ended. What a sink said is logged; of a message nothing
// but its seq.
func (o *observer) delivery(done delivery.Delivery) {
	metrics := o.metrics.Load()
	metrics.Count("Batches", done.Batches)
	metrics.Count("Delivered", done.Messages)
	metrics.Count("BatchesDeferred", done.Deferred)
	log := slog.With("queue", done.Queue, "consumer", done.Consumer, "delivered",
		done.Record.Delivered, "attempts", done.Record.Attempts)
	switch {
	case errors.Is(done.Err, cursor.ErrErased): // nothing is left to deliver
	case done.Err != nil:
		metrics.Count("Errors", 1)
		log.Error("the delivery could not go on", "error", done.Err)
	case done.Reason == "ISOLATED":
		metrics.Count("DeliveredAside", 1)
	case done.Outcome == delivery.Full:
		metrics.Count("RepliesWaiting", 1)
		log.Warn("the replies of a claim wait for room", "error", done.Cause)
	case done.Cause != nil:
		metrics.Count("DeliveriesFailed", 1)
		log.Warn("a batch was not delivered", "outcome", string(done.Outcome), "reason", done.Reason,
			"error", done.Cause)
	case done.Outcome == delivery.Lost:
		metrics.Count("DeliveriesLost", 1)
		log.Warn("the claim was taken over; what was delivered may come again")
	}
	if watched := o.log.Watched(); watched != "" && watched == done.Queue {
		log.Info("delivered", "batches", done.Batches, "messages", done.Messages, "outcome",
			string(done.Outcome), "reason", done.Reason)
	}
	if done.Outcome == delivery.Blocked {
		metrics.Count("DeliveriesBlocked", 1)
	}
}
