package dedupotel_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/dedupotel"
)

func TestSpansAndCounts(t *testing.T) {
	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	observed, traced := 0, 0
	o := &dedup.Options[string, string]{
		Observe: func(context.Context, dedup.Event) { observed++ },
		Trace: func(ctx context.Context, _ string, _ dedup.Key) (context.Context, func(error)) {
			return ctx, func(error) { traced++ }
		},
	}
	if err := dedupotel.Instrument(o, trace.NewTracerProvider(trace.WithSpanProcessor(spans)),
		metric.NewMeterProvider(metric.WithReader(reader))); err != nil {
		t.Fatal(err)
	}
	d, err := dedup.New(dedup.NewMemory(), "payments", o)
	check.OK(t, err)
	down := errors.New("down")
	for _, effectErr := range []error{down, nil, nil} {
		_, err := d.Once(t.Context(), "a", func(context.Context) (string, error) {
			return "x", effectErr
		})
		if !errors.Is(err, effectErr) {
			t.Fatal(err)
		}
	}
	if _, err := d.Invalidate(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}

	want := []struct {
		name   string
		status codes.Code
		events []string
	}{
		{"dedup.once", codes.Error, []string{"new", "failed", "exception"}},
		{"dedup.once", codes.Unset, []string{"taken over", "new", "completed"}},
		{"dedup.once", codes.Unset, []string{"duplicate"}},
		{"dedup.invalidate", codes.Unset, []string{"invalidated"}},
	}
	ended := spans.Ended()
	if len(ended) != len(want) || traced != len(want) {
		t.Fatalf("%d spans, and %d reported to the former Trace; want %d", len(ended), traced, len(want))
	}
	for i, span := range ended {
		var events []string
		for _, e := range span.Events() {
			events = append(events, e.Name)
		}
		if span.Name() != want[i].name || span.Status().Code != want[i].status ||
			!slices.Equal(events, want[i].events) {
			t.Errorf("span %d: %s, %v, %q; want %+v", i, span.Name(), span.Status(), events, want[i])
		}
		fields := map[string]string{}
		for _, a := range span.Attributes() {
			fields[string(a.Key)] = a.Value.AsString()
		}
		if fields["dedup.id"] != "a" || fields["dedup.processor"] != "payments" {
			t.Errorf("attributes %v", fields)
		}
	}

	var found metricdata.ResourceMetrics
	check.OK(t, reader.Collect(t.Context(), &found))
	counts := map[string]int64{}
	total := int64(0)
	for _, point := range found.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		kind, _ := point.Attributes.Value("dedup.event")
		counts[kind.AsString()] = point.Value
		total += point.Value
	}
	if counts["new"] != 2 || counts["duplicate"] != 1 || counts["taken over"] != 1 ||
		total != int64(observed) {
		t.Errorf("counts %v; %d events were reported to the former Observe", counts, observed)
	}
}

// TestNothing: without providers the options are as they were.
func TestNothing(t *testing.T) {
	o := &dedup.Options[string, string]{}
	if err := dedupotel.Instrument(o, nil, nil); err != nil || o.Trace != nil {
		t.Errorf("error %v, trace %v", err, o.Trace != nil)
	}
	d, err := dedup.New(dedup.NewMemory(), "payments", o)
	check.OK(t, err)
	if _, err := d.Once(t.Context(), "a", func(context.Context) (string, error) {
		return "x", nil
	}); err != nil {
		t.Error(err)
	}
}
