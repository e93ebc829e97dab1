package deduplambda

import (
	"context"
	"io"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// Metrics counts events, and writes the counts as CloudWatch metrics in the
// Embedded Metric Format: DedupNew, DedupDuplicate, DedupWaited,
// DedupTakenOver, DedupLost, DedupFailed, DedupQuarantined. Give its Observe to
// [dedup.Options].Observe, and call Flush before a handler returns.
type Metrics struct {
	current *emf.Metrics
}

// MetricNames are the metrics' namespace and dimensions: what Powertools takes from
// POWERTOOLS_METRICS_NAMESPACE, POWERTOOLS_SERVICE_NAME and
// AWS_LAMBDA_FUNCTION_NAME.
type MetricNames = emf.Names

// NewMetrics returns Metrics that are written to out: os.Stdout in a Lambda
// function; nil means nowhere.
func NewMetrics(out io.Writer, names MetricNames) *Metrics {
	if out == nil {
		out = io.Discard
	}
	return &Metrics{emf.New(out, names).Begin()}
}

var metricNames = map[dedup.EventKind]string{
	dedup.EventNew: "DedupNew", dedup.EventDuplicate: "DedupDuplicate", dedup.EventWaited: "DedupWaited", dedup.EventTakenOver: "DedupTakenOver",
	dedup.EventLost: "DedupLost", dedup.EventFailed: "DedupFailed", dedup.EventQuarantined: "DedupQuarantined",
}

// Observe counts an event.
func (m *Metrics) Observe(_ context.Context, e dedup.Event) {
	if name, counted := metricNames[e.Kind]; counted {
		m.current.Count(name, 1)
	}
}

// Flush writes what was counted since the last time, in one line, and nothing
// where there is nothing.
func (m *Metrics) Flush() { m.current.Flush() }
