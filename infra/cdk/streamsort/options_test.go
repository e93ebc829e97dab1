package streamsort

import (
	"encoding/json"
	"testing"
)

// A template is read and diffed by people, and bounded by CloudFormation (500
// resources, 1 MB).
const (
	maxResources = 250
	maxTemplate  = 500_000
)

// With every option on, too.
func TestTemplateSize(t *testing.T) {
	for name, tmpl := range map[string]template{"default": defaults(), "every option": changed()} {
		text, err := json.MarshalIndent(tmpl, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d resources, %d bytes", name, len(tmpl.Resources), len(text))
		if len(tmpl.Resources) > maxResources || len(text) > maxTemplate {
			t.Errorf("%s has %d resources and %d bytes; %d and %d are the most", name, len(tmpl.Resources), len(text), maxResources, maxTemplate)
		}
	}
}
