package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi"
)

func handled(t testing.TB, api *httpapi.API, event string) string {
	t.Helper()
	return string(check.Get(api.Handle(t.Context(), emf.New(io.Discard, emf.Names{}).Begin(),
		json.RawMessage(event))))
}

// An API with one operation for everything gets any body, byte for byte, and all headers; the
// others are not.
func TestAnyBody(t *testing.T) {
	var got *httpapi.Call
	take := func(_ context.Context, c *httpapi.Call) (int, any, error) {
		got = c
		return 200, map[string]int{"status": 200}, nil
	}
	for _, api := range []*httpapi.API{
		{Any: take},
		{Routes: []httpapi.Route{{Method: "POST", Resource: "x", Do: take}}},
	} {
		for name, test := range map[string]struct{ headers, body, want string }{
			"text": {`{"Content-Type":"text/plain"}`, `"text"`, "text"},
			// One header by two names: API Gateway joins those that are equal.
			"twice": {`{"X-A":"1","x-a":"2","content-type":"text/plain"}`, `"text"`, "text"},
			"bytes": {`{"content-type":"application/json"}`, `"//4=","isBase64Encoded":true`, "\xff\xfe"},
			"key":   {`{"content-type":"application/json","idempotency-key":"` + strings.Repeat("k", 2000) + `"}`, `"{}"`, "{}"},
		} {
			got = nil
			answer := handled(t, api, `{"rawPath":"/x","headers":`+test.headers+`,"body":`+test.body+
				`,"requestContext":{"http":{"method":"POST"}}}`)
			check.That(t, (got == nil) == (api.Any == nil) &&
				(got == nil || string(got.Body) == test.want), "%s: %+v, %s", name, got, answer)
			check.That(t, got == nil || name != "twice" || got.Headers["x-a"] == "1,2", "%+v", got)
		}
	}
}
