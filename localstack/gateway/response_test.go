package gateway

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestReply(t *testing.T) {
	cases := []struct {
		name, payload string
		status        int // 0 for an answer that cannot be read
		contentType   string
		body          string
	}{
		// The table of "Lambda function response for format 2.0".
		{"text", `"Hello from Lambda!"`, 200, "application/json", "Hello from Lambda!"},
		{"object", `{ "message": "Hello" }`, 200, "application/json", `{ "message": "Hello" }`},
		{"full", `{"statusCode": 201, "headers": {"Content-Type": "text/html", "X-N": 5, "x-b": true}, "body": "<p>"}`, 201, "text/html", "<p>"},
		// And what it leaves open.
		{"status alone", `{"statusCode": 204}`, 204, "default/type", ""},
		{"status as text", `{"statusCode": "404", "body": "x"}`, 404, "default/type", "x"},
		{"null fields", `{"statusCode": 200, "headers": null, "body": null, "cookies": null, "multiValueHeaders": null}`, 200, "default/type", ""},
		{"base64", `{"statusCode": 200, "isBase64Encoded": true, "body": "aGk="}`, 200, "default/type", "hi"},
		{"null", `null`, 200, "application/json", "null"},
		{"own length", `{"statusCode": 200, "headers": {"content-length": "99"}, "body": "x"}`, 200, "default/type", "x"},
		{"nothing", ``, 0, "", ""},
		{"status 99", `{"statusCode": 99}`, 0, "", ""},
		{"body object", `{"statusCode": 200, "body": {}}`, 0, "", ""},
		{"headers list", `{"statusCode": 200, "headers": []}`, 0, "", ""},
		{"header object", `{"statusCode": 200, "headers": {"x": {}}}`, 0, "", ""},
		{"bad base64", `{"statusCode": 200, "isBase64Encoded": true, "body": "?"}`, 0, "", ""},
		{"cookies text", `{"statusCode": 200, "cookies": "a=1"}`, 0, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := newReply([]byte(c.payload), "default/type")
			if c.status == 0 {
				check.That(t, err != nil, "reply = %+v; want an error", got)
				return
			}
			check.OK(t, err)
			w := httptest.NewRecorder()
			got.write(w)
			if w.Code != c.status || w.Header().Get("Content-Type") != c.contentType ||
				w.Body.String() != c.body {
				t.Errorf("reply = %d %q %q; want %d %q %q", w.Code, w.Header().Get("Content-Type"), w.Body,
					c.status, c.contentType, c.body)
			}
		})
	}
}

func TestReplyCookies(t *testing.T) {
	got, err := newReply(
		[]byte(`{"statusCode": 200, "cookies": ["a=1; Secure", "b=2"], "headers": {"x-n": 5}}`), "")
	check.OK(t, err)
	w := httptest.NewRecorder()
	got.write(w)
	cookies := strings.Join(w.Header()["Set-Cookie"], "|")
	check.That(t, cookies == "a=1; Secure|b=2" && w.Header().Get("X-N") == "5", "%v", w.Header())
}
