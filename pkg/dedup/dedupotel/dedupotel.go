// Package dedupotel shows what pkg/dedup does as OpenTelemetry spans and counts. It is a module of
// its own, so that nobody else depends on OpenTelemetry.
//
// Call [Instrument] with the options before dedup.New:
//
//	o := &dedup.Options[string, Receipt]{}
//	if err := dedupotel.Instrument(o, otel.GetTracerProvider(), otel.GetMeterProvider()); err != nil { … }
//	payments, err := dedup.New(store, "payments", o)
//
// The spans are dedup.once, dedup.try_start, dedup.invalidate and, in them, dedup.poll while a call
// waits for another one. Each has dedup.id and dedup.processor, and the error that it ended with.
// What happens in a span is an event of it, such as "taken over", and is counted by dedup.events,
// an instrument with dedup.processor and dedup.event.
package dedupotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamsort/streamsort/pkg/dedup"
)

const scope = "github.com/streamsort/streamsort/pkg/dedup/dedupotel"

// Instrument makes the options report what happens to the providers. The options' former Trace and
// Observe are still called. Either provider may be nil. The error is that of a meter which refuses
// the instrument.
func Instrument[ID, R any](o *dedup.Options[ID, R], traces trace.TracerProvider,
	metrics metric.MeterProvider) error {
	if traces != nil {
		o.Trace = tracing(traces.Tracer(scope), o.Trace)
	}
	var events metric.Int64Counter
	if metrics != nil {
		var err error
		events, err = metrics.Meter(scope).Int64Counter("dedup.events",
			metric.WithDescription("What became of calls, by kind of event."))
		if err != nil {
			return err
		}
	}
	o.Observe = observing(events, o.Observe)
	return nil
}

// tracer is the type of Options.Trace, observer that of Options.Observe.
type (
	tracer   = func(context.Context, string, dedup.Key) (context.Context, func(error))
	observer = func(context.Context, dedup.Event)
)

func tracing(t trace.Tracer, before tracer) tracer {
	return func(ctx context.Context, operation string, k dedup.Key) (context.Context, func(error)) {
		end := func(error) {}
		if before != nil {
			ctx, end = before(ctx, operation, k)
		}
		ctx, span := t.Start(ctx, "dedup."+operation, trace.WithAttributes(
			attribute.String("dedup.id", k.ID), attribute.String("dedup.processor", k.Processor)))
		return ctx, func(err error) {
			if err != nil {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
			end(err)
		}
	}
}

func observing(events metric.Int64Counter, before observer) observer {
	return func(ctx context.Context, e dedup.Event) {
		if before != nil {
			before(ctx, e)
		}
		kind := string(e.Kind)
		trace.SpanFromContext(ctx).AddEvent(kind,
			trace.WithAttributes(attribute.Int64("dedup.attempt", e.Attempt)))
		if events != nil {
			events.Add(ctx, 1, metric.WithAttributes(attribute.String("dedup.processor", e.Key.Processor),
				attribute.String("dedup.event", kind)))
		}
	}
}
