//go:build whole

package localstack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestNodeFunctions and TestPythonFunctions: a handler gets the event and a context, in the folder
// of its code; what it throws, and a handler that is not there, are function errors.
func TestNodeFunctions(t *testing.T) {
	testInterpreted(t, "node", "echo.mjs exports no function other: it has handler",
		"there is no other.mjs")
}

func TestPythonFunctions(t *testing.T) {
	testInterpreted(t, "python", "echo.py has no function other: it has handler",
		"there is no other.py")
}

func testInterpreted(t *testing.T, stack, noFunction, noFile string) {
	t.Helper()
	s := run(t, Config{Templates: []string{"testdata/" + stack + ".template.json"}})
	invoke := func(function, event string) map[string]any {
		status, answer := fetch[map[string]any](t, http.MethodPost,
			s.URL()+"/2015-03-31/functions/"+function+"/invocations", event)
		check.Need(t, status == http.StatusOK, "%s of %s: status %d, %v", event, function, status, answer)
		return answer
	}
	for range 2 { // the second by the same process, which was stopped in between
		got := invoke("Echo", `{"text":"é","n":[1]}`)
		event, _ := got["event"].(map[string]any)
		left, _ := got["left"].(float64)
		if event["text"] != "é" || got["root"] != true || got["name"] != stack+"-Echo" || left <= 0 ||
			left > 30_000 {
			t.Errorf("answer %v", got)
		}
	}
	if got := invoke("Echo", `{"nothing":1}`); got != nil {
		t.Errorf("answer %v, want null", got)
	}
	for _, c := range []struct{ function, event, kind, message string }{
		{"Echo", `{"fail":"no luck"}`, "TypeError", "no luck"},
		{"NoFunction", `{}`, "", noFunction},
		{"NoFile", `{}`, "", noFile},
	} {
		got := invoke(c.function, c.event)
		kind, _ := got["errorType"].(string)
		if message, _ := got["errorMessage"].(string); !strings.Contains(message, c.message) ||
			c.kind != "" && kind != c.kind || kind == "" {
			t.Errorf("%s of %s: %v", c.event, c.function, got)
		}
	}
}
