package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/timer"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// handler is the type of the function that Lambda calls.
type handler = func(context.Context, call) (events.DynamoDBEventResponse, error)

// fromEnvironment makes the handler of the environment's tables and of its
// consumers, or of the consumers.json that lies beside the program. Metrics go to out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	client, err := dynamo.New(nil)
	if err != nil {
		return nil, err
	}
	readers, err := readersFrom(os.Getenv("LAMBDA_TASK_ROOT"), endpoint.NewCache(endpoint.NewStore(dynamo.NewEngine(client), s.Consumers.Tables(), time.Now).Of, time.Now))
	if err != nil {
		return nil, err
	}
	seen := &observer{emitter: settings.NewEmitter(out), log: s.Log}
	acker, err := ackerFor(readers, client, s.Timer)
	if err != nil {
		return nil, err
	}
	var more []func(*handoff.Options)
	if slices.ContainsFunc(readers, func(r handoff.Reader) bool { return r.Inline > 0 }) {
		calls, err := newAsideCalls()
		if err != nil {
			return nil, err
		}
		more = append(more, func(o *handoff.Options) { o.Aside = calls.call })
	}
	deliverer, _, err := s.NewDeliverer(client, acker, seen.delivery, more...)
	if err != nil {
		return nil, err
	}
	return newHandler(deliverer, s.Names, seen, readers, s.After(client))
}

// ackerFor makes the Acker, where a reader is tracked: only then does the
// environment say where the chains are.
func ackerFor(readers []handoff.Reader, client *dynamodb.Client, t *timer.Timer) (*xorack.Acker, error) {
	if !slices.ContainsFunc(readers, func(r handoff.Reader) bool { return r.Track > 0 }) {
		return nil, nil
	}
	a, err := settings.AcksFromEnvironment()
	if err != nil {
		return nil, err
	}
	acker, err := a.NewAcker(client, t)
	return acker, err
}

// margins is how long before the function's deadline it stops, so that which record has to be
// repeated is answered.
const margins = time.Second

// newHandler returns the handler, which takes a batch of records and returns the first
// one that has to be repeated, or delivers a queue that would have held up others. The Deliverer must report what it does to seen. after is
// called at the end.
func newHandler(d *handoff.Deliverer, names cursor.Names, seen *observer, readers []handoff.Reader, after func(context.Context, *emf.Metrics)) (handler, error) {
	for i := range readers {
		readers[i].Handed = seen.handed
		if err := instrument(&readers[i]); err != nil {
			return nil, err
		}
	}
	deliver, err := handoff.OnStream(d, names, readers...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event call) (events.DynamoDBEventResponse, error) {
		ctx, cancel := margin.Keep(ctx, margins)
		defer cancel()
		seen.begin()
		defer seen.flush(ctx, after)
		defer flushSpans(ctx)
		if event.Aside != nil {
			return events.DynamoDBEventResponse{}, deliverAside(ctx, d, readers, *event.Aside)
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
	emitter *emf.Emitter
	// log names the queue whose deliveries are all logged.
	log calllog.Log
	mu  sync.Mutex
	// metrics are those of the invocation: a process has one at a time.
	metrics *emf.Metrics
}

func (o *observer) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.metrics = o.emitter.Begin()
}

func (o *observer) flush(ctx context.Context, after func(context.Context, *emf.Metrics)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	after(ctx, o.metrics)
	o.metrics.Flush()
}

// maxTraces is the most traces that are logged of a batch.
const maxTraces = 20

// handed logs when a batch was handed on, where its queue is watched, or who sent one of its
// messages records that message's trace: those traces are named.
func (o *observer) handed(h handoff.Handed) {
	var traces []string
	for _, m := range h.Batch.Messages {
		if id := m.Trace.ID(); m.Trace.Sampled() && len(traces) < maxTraces && !slices.Contains(traces, id) {
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
	slog.Info("handed on", fields...)
}

// delivery logs and counts how a delivery ended. What a sink said is logged; of a
// message nothing but its seq.
func (o *observer) delivery(done handoff.Delivery) {
	o.mu.Lock()
	metrics := o.metrics
	o.mu.Unlock()
	metrics.Count("Batches", done.Batches)
	metrics.Count("Delivered", done.Messages)
	metrics.Count("BatchesTracked", done.Tracked)
	log := slog.With("queue", done.Queue, "consumer", done.Consumer, "delivered", done.Record.Delivered, "attempts", done.Record.Attempts)
	switch {
	case done.Err != nil:
		metrics.Count("Errors", 1)
		log.Error("the delivery could not go on", "error", done.Err)
	case done.Ended == handoff.EndedAside:
		metrics.Count("DeliveredAside", 1)
	case done.Ended == handoff.EndedReplying:
		metrics.Count("RepliesWaiting", 1)
		log.Warn("the replies of a claim wait for room", "error", done.Cause)
	case done.Cause != nil:
		metrics.Count("DeliveriesFailed", 1)
		log.Warn("a batch was not delivered", "ended", string(done.Ended), "error", done.Cause)
	case done.Ended == handoff.EndedLost:
		metrics.Count("DeliveriesLost", 1)
		log.Warn("the claim was taken over; what was delivered may come again")
	}
	if watched := o.log.Watched(); watched != "" && watched == done.Queue {
		log.Info("delivered", "batches", done.Batches, "messages", done.Messages, "ended", string(done.Ended))
	}
	if done.Ended == handoff.EndedBlocked {
		metrics.Count("DeliveriesBlocked", 1)
	}
}
