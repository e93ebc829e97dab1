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
)

// invokeBy is what a function answers to a direct invoke by an alias, with an operation in its
// client context or none.
func invokeBy(t *testing.T, s *Stack, function, alias, operation, document string) string {
	t.Helper()
	url := s.URL() + "/2015-03-31/functions/" + function + "/invocations?Qualifier=" + alias
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if operation != "" {
		request.Header.Set("X-Amz-Client-Context", base64.StdEncoding.EncodeToString([]byte(`{"custom":{"operation":"`+operation+`"}}`)))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("X-Amz-Function-Error") != "" {
		t.Fatalf("%s: %d %s, %v", document, response.StatusCode, answer, err)
	}
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
	if alias != "put" {
		t.Fatalf("the alias is %q", alias)
	}
	events := []string{
		`{"author":"ann","n":1,"operation":"configure","queue":"victim","policy":"skip"}`,
		`{"author":"ann","n":2,"version":"2.0","routeKey":"PUT /queues","rawPath":"/queues","headers":{"content-type":"application/json"},` +
			`"requestContext":{"authorizer":{"iam":{"userArn":"arn:aws:iam::1:root"}},"http":{"method":"PUT","path":"/queues"}},` +
			`"body":"{\"queue\":\"victim\",\"policy\":\"skip\"}"}`,
		`{"author":"ann","n":3,"requestContext":{"authorizer":{"jwt":{"claims":{"t":"globex"}}},"http":{"method":"POST"}},"rawPath":"/messages","body":"{}"}`,
	}
	for _, event := range events {
		if answer := invokeBy(t, s, name, alias, "", event); !strings.Contains(answer, `"outcome":"advanced"`) {
			t.Errorf("%s: %s", event, answer)
		}
	}
	// What was forged is an order where it is not an event's: the test's own control.
	if answer := invokeBy(t, s, name, "live", "configure", `{"queue":"q","policy":"skip"}`); !strings.Contains(answer, `"policy":"skip"`) {
		t.Errorf("an order beside the document: %s", answer)
	}
	if answer := invokeBy(t, s, name, "live", "status", `{"queue":"victim"}`); !strings.Contains(answer, "no-queue") {
		t.Errorf("an event was carried out: %s", answer)
	}
	var page struct {
		Messages []struct {
			Body       json.RawMessage
			BodyBase64 []byte
		}
	}
	if err := json.Unmarshal([]byte(invokeBy(t, s, name, "live", "read", `{"queue":"ann"}`)), &page); err != nil || len(page.Messages) != len(events) {
		t.Fatalf("%+v, %v", page, err)
	}
	for i, m := range page.Messages {
		if body := bytes.Join([][]byte{m.Body, m.BodyBase64}, nil); string(body) != events[i] {
			t.Errorf("stored %s, sent %s", body, events[i])
		}
	}
}
