package deliveryotel_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	deliveryotel "github.com/streamsort/streamsort/pkg/delivery/otel"
)

// TestABatchIsASpan, with a link to each message that came with a trace context, by a real
// delivery.
func TestABatchIsASpan(t *testing.T) {
	exporter, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	var sent []cursor.Trace
	for seq := range int64(3) {
		m := cursor.Message{Queue: "orders", Seq: seq + 1, ID: "o", Body: []byte("{}")}
		if seq != 1 {
			ctx, span := provider.Tracer("producer").Start(t.Context(), "send")
			m.Trace = deliveryotel.TraceOf(ctx)
			sent = append(sent, m.Trace)
			span.End()
		}
		check.OK(t, sorter.Put(t.Context(), m)[0].Err)
	}
	exporter.Reset()

	bad := errors.New("bad")
	fail := true
	var inside trace.SpanContext
	r := delivery.Reader{Name: "billing", Handle: func(ctx context.Context, _ delivery.Batch) error {
		inside = trace.SpanContextFromContext(ctx)
		if fail {
			fail = false
			return delivery.Permanent(bad)
		}
		return nil
	}}
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	check.OK(t, deliveryotel.Instrument(&r, provider, meters))
	d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
	done := d.Deliver(t.Context(), "orders", r, -1)
	check.Need(t, done.Err == nil && done.Messages == 3, "%+v", done)

	// The batch that failed comes again by halves.
	spans := exporter.GetSpans()
	check.Need(t, len(spans) >= 2, "%d spans", len(spans))
	first, last := spans[0], spans[len(spans)-1]
	check.That(t, first.Status.Code == codes.Error && first.Name == "process" &&
		first.SpanKind == trace.SpanKindConsumer && last.Status.Code == codes.Unset &&
		last.SpanContext.SpanID() == inside.SpanID(), "%+v, %+v", first, last)
	got := map[string]string{}
	for _, a := range first.Attributes {
		got[string(a.Key)] = a.Value.String()
	}
	for name, want := range map[string]string{
		"messaging.system": "streamsort", "messaging.operation.type": "process", "messaging.operation.name": "process", "messaging.destination.name": "orders",
		"messaging.consumer.group.name": "billing", "messaging.batch.message_count": "3", "streamsort.from": "1", "streamsort.to": "3", "streamsort.attempt": "1",
	} {
		check.Is(t, got[name], want, name)
	}
	check.That(t, got["error.type"] != "" && got["streamsort.token"] != "", "attributes %v", got)
	check.That(t, got["messaging.message.id"] == "", "attributes %v", got)
	check.Need(t, len(first.Links) == 2, "%d links, want 2", len(first.Links))
	for i, seq := range []int64{1, 3} {
		link := first.Links[i]
		if want := deliveryotel.SpanContext(sent[i]); !link.SpanContext.Equal(want.WithRemote(true)) ||
			link.Attributes[0] != attribute.Int64("streamsort.seq", seq) {
			t.Errorf("link %d: %+v, want %+v", i, link, want)
		}
	}

	var found metricdata.ResourceMetrics
	check.OK(t, reader.Collect(t.Context(), &found))
	total := int64(0)
	names := ""
	for _, m := range found.ScopeMetrics[0].Metrics {
		names += m.Name + " "
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, point := range sum.DataPoints {
				total += point.Value
				_, has := point.Attributes.Value("messaging.destination.name")
				check.That(t, !has, "the metrics have the queue's name")
			}
		}
	}
	check.Has(t, names, "messaging.process.duration")
	check.Has(t, names, "messaging.client.consumed.messages")
	check.That(t, total >= 3, "%d messages", total)
}

// TestPanics: the span ends, and the batch fails as it does without it.
func TestPanics(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	r := delivery.Reader{Name: "billing", Handle: func(context.Context, delivery.Batch) error {
		panic("no")
	}}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	check.OK(t, deliveryotel.Instrument(&r, provider, nil))
	func() {
		defer func() { check.Is[any](t, recover(), "no") }()
		_ = r.Handle(t.Context(), delivery.Batch{Queue: "q"})
	}()
	spans := exporter.GetSpans()
	check.That(t, len(spans) == 1 && spans[0].Status.Code == codes.Error &&
		spans[0].Status.Description == "panic: no", "%+v", spans)
}

// TestNothing: without providers the reader is as it was; without a span there is no trace context.
func TestNothing(t *testing.T) {
	called := 0
	r := delivery.Reader{Name: "billing", Handle: func(context.Context, delivery.Batch) error {
		called++
		return nil
	}}
	check.OK(t, deliveryotel.Instrument(&r, nil, nil))
	check.OK(t, r.Handle(t.Context(), delivery.Batch{}))
	check.Is(t, called, 1)
	got := deliveryotel.TraceOf(t.Context())
	check.Is(t, got, cursor.Trace{})
	check.That(t, !deliveryotel.SpanContext(got).IsValid(), "%+v", got)
}
