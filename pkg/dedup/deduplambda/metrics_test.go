package deduplambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduplambda"
)

func TestMetrics(t *testing.T) {
	var out bytes.Buffer
	metrics := deduplambda.NewMetrics(&out, deduplambda.MetricNames{})
	metrics.Flush() // ColdStart
	out.Reset()
	d := process(t, dedup.NewMemory(), &options{Observe: metrics.Observe, MaxAttempts: 1})
	var ran atomic.Int64
	for range 3 {
		_, _ = d.Once(t.Context(), "a", returns("x", &ran))
	}
	for range 2 {
		_, _ = d.Once(t.Context(), "b", func(context.Context) (string, error) { return "", errors.New("x") })
	}
	metrics.Flush()
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err, out.String())
	}
	for name, want := range map[string]any{"DedupNew": 2.0, "DedupDuplicate": 2.0, "DedupFailed": 1.0, "DedupQuarantined": 1.0, "DedupLost": nil} {
		check.That(t, line[name] == want, "%s %v, want %v", name, line[name], want)
	}
	out.Reset()
	if metrics.Flush(); out.Len() > 0 {
		t.Errorf("flushed twice: %s", &out)
	}
}

// TestMetricsWithoutAReader: they may go nowhere.
func TestMetricsWithoutAReader(t *testing.T) {
	metrics := deduplambda.NewMetrics(nil, deduplambda.MetricNames{})
	d := process(t, dedup.NewMemory(), &options{Observe: metrics.Observe})
	check.Get(d.Once(t.Context(), "a", returns("x", new(atomic.Int64))))
	metrics.Flush()
}

func TestOffInEnvironment(t *testing.T) {
	for value, off := range map[string]bool{"true": true, "1": true, "ON": true, "yes": true, "false": false, "": false, "never": false} {
		t.Setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", value)
		check.That(t, deduplambda.OffInEnvironment() == off, "%q: not %v", value, off)
	}
}
