package streamsort

import (
	"strings"
	"testing"
)

// Calls are traced where that is asked for. By default nothing is recorded, and no role may record.
func TestTracing(t *testing.T) {
	for id, resource := range withURL().Resources {
		if mode := resource["Properties"].(object)["TracingConfig"]; resource["Type"] == "AWS::Lambda::Function" && asText(t, mode) != `{"Mode":"Active"}` {
			t.Errorf("%s has the mode %v", id, mode)
		}
	}
	if text := asText(t, defaults().Resources); strings.Contains(text, "TracingConfig") || strings.Contains(text, "xray:") {
		t.Error("X-Ray is in the template")
	}
}
