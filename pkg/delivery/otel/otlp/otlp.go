// Package otlp sends a function's spans by OTLP over HTTP, at the end of each invocation: the build
// of process with OpenTelemetry uses it (make build TRACED=1), and a function of one's own may.
package otlp

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	// flushWithin bounds how long an invocation waits for its spans to be taken.
	flushWithin = time.Second
	// maxLinks is how many links a span keeps: as many as a batch may have messages.
	maxLinks = 1000
)

// New is a provider whose spans go to where OTEL_EXPORTER_OTLP_ENDPOINT says, and where that is not
// set to http://localhost:4318, where a collector that is a Lambda layer listens. OTEL_SERVICE_NAME
// comes before the service's name that is given; the SDK's and the exporter's other variables are
// heeded. It makes no request.
//
// flush is to be called at the end of each invocation: between two, the process stands still. Spans
// that are not taken within a second are lost, and a line says so.
func New(ctx context.Context,
	service string) (provider trace.TracerProvider, flush func(context.Context), err error) {
	// What is repeated after an invocation is never sent.
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithTimeout(flushWithin),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, nil, err
	}
	named, err := resource.Merge(resource.Default(),
		resource.NewSchemaless(semconv.ServiceName(cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), service))))
	if err != nil {
		return nil, nil, err
	}
	limits := sdk.NewSpanLimits()
	limits.LinkCountLimit = maxLinks
	traces := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(named),
		sdk.WithRawSpanLimits(limits))
	return traces, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, flushWithin)
		defer cancel()
		if err := traces.ForceFlush(ctx); err != nil {
			slog.WarnContext(ctx, "spans are lost", "error", err)
		}
	}, nil
}
