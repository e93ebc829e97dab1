// Package deliveryotel shows what a consumer of pkg/delivery does as OpenTelemetry spans and
// metrics, after OpenTelemetry's conventions for messaging. It is a module of its own, so that
// nobody else depends on OpenTelemetry.
//
// Call [Instrument] with the reader before delivery.OnStream, or Deliverer.Deliver:
//
//	r := delivery.Reader{Name: "billing", Handle: charge}
//	if err := deliveryotel.Instrument(&r, otel.GetTracerProvider(), otel.GetMeterProvider()); err != nil { … }
//
// A batch is one span, process, of the kind CONSUMER, which Handle's context has. It has a link to
// the trace context of each message that came with one. Its attributes are
//
//	messaging.system                 streamsort
//	messaging.operation.name, .type  process
//	messaging.destination.name       the queue
//	messaging.consumer.group.name    the consumer
//	messaging.batch.message_count    how many messages the batch has
//	messaging.message.id             the message's id, where the batch is one message
//	streamsort.from, streamsort.to   the first and the last seq of the batch
//	streamsort.token, .attempt       the claim, and how often it came so far, with this time
//	error.type                       the error's Go type, where Handle failed
//
// Its name has no queue in it, since there may be a queue for each thing that is followed. An SDK
// keeps 128 links of a span unless its limits say otherwise (trace.SpanLimits,
// OTEL_SPAN_LINK_COUNT_LIMIT); a batch has up to Reader.MaxMessages, 100 where that is not set.
//
// The metrics are messaging.process.duration and messaging.client.consumed.messages, with the
// system, the operation, the consumer, and error.type; without the queue.
package deliveryotel

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
	"go.opentelemetry.io/otel/trace"

	"go.opentelemetry.io/otel/propagation"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const (
	// scope names this instrumentation.
	scope = "github.com/streamsort/streamsort/pkg/delivery/otel"
	// system is what the conventions call the messaging system, operation what is done.
	system    = "streamsort"
	operation = "process"
)

// Instrument makes the reader report its batches to the providers, and calls its former Handle.
// Either provider may be nil. The error is that of a meter which refuses an instrument.
func Instrument(r *delivery.Reader, traces trace.TracerProvider,
	metrics metric.MeterProvider) error {
	if metrics != nil {
		handle, err := metering(metrics.Meter(scope), r.Handle)
		if err != nil {
			return err
		}
		r.Handle = handle
	}
	if traces != nil {
		r.Handle = tracing(traces.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), r.Handle)
	}
	return nil
}

type handler = func(context.Context, delivery.Batch) error

func tracing(t trace.Tracer, handle handler) handler {
	return func(ctx context.Context, b delivery.Batch) (err error) {
		ctx, span := t.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindConsumer),
			trace.WithAttributes(attributes(b)...), trace.WithLinks(links(b)...))
		defer func() {
			failed := err
			if p := recover(); p != nil {
				failed = fmt.Errorf("panic: %v", p)
				defer panic(p) // the Deliverer takes it as the batch's failure
			}
			if failed != nil {
				span.RecordError(failed)
				span.SetAttributes(semconv.ErrorType(failed))
				span.SetStatus(codes.Error, failed.Error())
			}
			span.End()
		}()
		return handle(ctx, b)
	}
}

func attributes(b delivery.Batch) []attribute.KeyValue {
	all := []attribute.KeyValue{
		semconv.MessagingSystemKey.String(system),
		semconv.MessagingOperationName(operation),
		semconv.MessagingOperationTypeProcess,
		semconv.MessagingDestinationName(b.Queue),
		semconv.MessagingConsumerGroupName(b.Consumer),
		semconv.MessagingBatchMessageCount(len(b.Messages)),
		attribute.Int64("streamsort.from", b.From+1),
		attribute.Int64("streamsort.to", b.To),
		attribute.String("streamsort.token", b.Token.String()),
		attribute.Int("streamsort.attempt", b.Attempt),
	}
	if len(b.Messages) == 1 && b.Messages[0].ID != "" {
		all = append(all, semconv.MessagingMessageID(b.Messages[0].ID))
	}
	return all
}

// links are to the spans that put the messages which came with a trace context.
func links(b delivery.Batch) []trace.Link {
	var all []trace.Link
	for _, m := range b.Messages {
		if at := SpanContext(m.Trace); at.IsValid() {
			all = append(all, trace.Link{SpanContext: at,
				Attributes: []attribute.KeyValue{attribute.Int64("streamsort.seq", m.Seq)}})
		}
	}
	return all
}

// SpanContext is a message's trace context as OpenTelemetry has it; it is not valid if absent.
func SpanContext(t cursor.Trace) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": t.Parent, "tracestate": t.State}
	return trace.SpanContextFromContext(
		propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// TraceOf is the trace context of a context's span, for a message that is put or replied in it; the
// zero Trace if absent.
func TraceOf(ctx context.Context) cursor.Trace {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return cursor.TraceOf(carrier["traceparent"], carrier["tracestate"])
}

func metering(m metric.Meter, handle handler) (handler, error) {
	duration, err := messagingconv.NewProcessDuration(m)
	if err != nil {
		return nil, err
	}
	consumed, err := messagingconv.NewClientConsumedMessages(m)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, b delivery.Batch) error {
		began := time.Now()
		err := handle(ctx, b)
		attributes := []attribute.KeyValue{duration.AttrConsumerGroupName(b.Consumer)}
		if err != nil {
			attributes = append(attributes, semconv.ErrorType(err))
		}
		duration.Record(ctx, time.Since(began).Seconds(), operation, system, attributes...)
		consumed.Add(ctx, int64(len(b.Messages)), operation, system, attributes...)
		return err
	}, nil
}
