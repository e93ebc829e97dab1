package settings_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/settings"
)

func TestMetricsHaveTheEnvironmentsNames(t *testing.T) {
	t.Setenv("POWERTOOLS_METRICS_NAMESPACE", "Space")
	t.Setenv("POWERTOOLS_SERVICE_NAME", "orders")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "enqueue")
	var out bytes.Buffer
	settings.NewEmitter(&out).Begin().Flush()
	for _, part := range []string{`"Namespace":"Space"`, `"service":"orders"`, `"function_name":"enqueue"`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %s in %s", part, &out)
		}
	}
}
