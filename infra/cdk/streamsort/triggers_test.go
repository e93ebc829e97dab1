package streamsort

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestSortsWindowInAsyncMode(t *testing.T) {
	p := (&Props{Mode: cursor.ModeAsync}).withDefaults("Streamsort")
	if window := *p.Functions["sort"].BatchWindow; window != 0 {
		t.Errorf("the window is %v where sort moves the cursors, want none", window)
	}
}

// No event source mapping of any stack, one that AddConsumer makes included, is left to AWS's
// defaults: from the newest record on, a bad one repeated until it expires with all that wait
// behind it.
func TestMappingsAreBounded(t *testing.T) {
	mappings := 0
	for _, tmpl := range []template{defaults(), changed(), granted(t, "")} {
		for id, resource := range tmpl.Resources {
			if resource["Type"] != "AWS::Lambda::EventSourceMapping" || strings.Contains(id, "TimerMapping") {
				continue // that of a queue has none of it
			}
			mappings++
			p := resource["Properties"].(object)
			diff(t, id, []any{"TRIM_HORIZON", true, []any{"ReportBatchItemFailures"}},
				[]any{p["StartingPosition"], p["BisectBatchOnFunctionError"], p["FunctionResponseTypes"]})
			retries, age := p["MaximumRetryAttempts"].(float64), p["MaximumRecordAgeInSeconds"].(float64)
			if retries < 1 || retries > 10_000 || age < 60 || age > 24*3600 || p["DestinationConfig"] == nil {
				t.Errorf("%s: %v retries, for %v s, then to %v", id, retries, age, p["DestinationConfig"])
			}
		}
	}
	if mappings != 3+4+4 {
		t.Errorf("%d mappings", mappings)
	}
}
