//go:build whole

package localstack

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestFunctionURL: messages come in by the function URL of the stack's own template, as by the HTTP
// API; what producers must not do is not there.
func TestFunctionURL(t *testing.T) {
	s := run(t, Config{Templates: []string{"testdata/url.patch.json"}})
	url := s.Outputs()["url"]["PutUrl"]
	if status, answer := fetch[map[string]any](t, "POST", url+"messages",
		`{"queue":"q","seq":1,"body":"a"}`); status != 200 || answer["outcome"] != "advanced" {
		t.Errorf("put: %d %v", status, answer)
	}
	for _, request := range []struct{ method, path, body string }{{"GET", "messages?queue=q", ""},
		{"PUT", "queues", `{"queue":"q","policy":"skip"}`}} {
		if status, answer := fetch[map[string]any](t, request.method, url+request.path,
			request.body); status != 404 && status != 405 {
			t.Errorf("%s %s by the URL: %d %v", request.method, request.path, status, answer)
		}
	}
	status, answer := fetch[map[string]any](t, "GET", s.URL()+"/messages?queue=q", "")
	check.That(t, status == 200 && answer["position"] == 1.0, "read by the API: %d %v", status, answer)
}
