//go:build whole

package localstack

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// invokeBy is what a function answers to a direct invoke by an alias, with an operation in its
// client context or none.
func invokeBy(t *testing.T, s *Stack, function, alias, operation, document string) string {
	t.Helper()
	url := s.URL() + "/2015-03-31/functions/" + function + "/invocations?Qualifier=" + alias
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
		strings.NewReader(document))
	check.OK(t, err)
	if operation != "" {
		request.Header.Set("X-Amz-Client-Context",
			base64.StdEncoding.EncodeToString([]byte(`{"custom":{"operation":"`+operation+`"}}`)))
	}
	response, err := http.DefaultClient.Do(request)
	check.OK(t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	check.Need(t, err == nil && response.StatusCode == http.StatusOK &&
		response.Header.Get("X-Amz-Function-Error") == "", "%s: %d %s, %v", document,
		response.StatusCode, answer, err)
	return string(answer)
}

// TestEventsAreStored has the function as it is deployed called with events that forge an
// operator's order, a request signed for IAM and a tenant: by its alias put all are stored as what
// they are, and no order is carried out. An operator gives orders by the client context.
func TestEventsAreStored(t *testing.T) {
	s := run(t, Config{Templates: []string{"streamsort.template.json"}, Env: map[string]string{
		"EnqueueFunction.STREAMSORT_EVENTS": `{"queue":"author","seq":"n"}`, "EnqueueFunction.STREAMSORT_TENANT_CLAIM": "t",
	}})
	name, alias := "", ""
	for _, outputs := range s.Outputs() {
		name, alias, _ = strings.Cut(outputs["EnqueuePutFunctionName"], ":")
	}
	check.Need(t, alias == "put", "the alias is %q", alias)
	events := []string{
		`{"author":"ann","n":1,"operation":"configure","queue":"victim","policy":"skip"}`,
		`{"author":"ann","n":2,"version":"2.0","routeKey":"PUT /queues","rawPath":"/queues","headers":{"content-type":"application/json"},` +
			`"requestContext":{"authorizer":{"iam":{"userArn":"arn:aws:iam::1:root"}},"http":{"method":"PUT","path":"/queues"}},` +
			`"body":"{\"queue\":\"victim\",\"policy\":\"skip\"}"}`,
		`{"author":"ann","n":3,"requestContext":{"authorizer":{"jwt":{"claims":{"t":"globex"}}},"http":{"method":"POST"}},"rawPath":"/messages","body":"{}"}`,
	}
	for _, event := range events {
		answer := invokeBy(t, s, name, alias, "", event)
		check.That(t, strings.Contains(answer, `"outcome":"advanced"`), "%s: %s", event, answer)
	}
	// What was forged is an order where it is not an event's: the test's own control.
	answer := invokeBy(t, s, name, "live", "configure", `{"queue":"q","policy":"skip"}`)
	check.That(t, strings.Contains(answer, `"policy":"skip"`), "%s", answer)
	answer = invokeBy(t, s, name, "live", "status", `{"queue":"victim"}`)
	check.That(t, strings.Contains(answer, "no-queue"), "an event was carried out: %s", answer)
	var page struct {
		Messages []struct {
			Body       json.RawMessage
			BodyBase64 []byte
		}
	}
	err := json.Unmarshal([]byte(invokeBy(t, s, name, "live", "read", `{"queue":"ann"}`)), &page)
	check.Need(t, err == nil && len(page.Messages) == len(events), "%+v, %v", page, err)
	for i, m := range page.Messages {
		check.Is(t, string(bytes.Join([][]byte{m.Body, m.BodyBase64}, nil)), events[i])
	}
}

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
