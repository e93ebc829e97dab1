package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi"
)

// zipped is a text in gzip, n times.
func zipped(t testing.TB, text string, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for range n {
		check.Get(io.WriteString(w, text))
	}
	check.OK(t, w.Close())
	return out.Bytes()
}

// post answers a request with its body, its key and a header: "status text".
func post(t testing.TB, headers map[string]string,
	body []byte) (status int, document string, answered map[string]string) {
	t.Helper()
	api := &httpapi.API{
		Routes: []httpapi.Route{{Method: http.MethodPost, Resource: "messages",
			Do: func(_ context.Context, c *httpapi.Call) (int, any, error) {
				return http.StatusOK,
					fmt.Sprintf("%s|%s|%s", c.Body, c.IdempotencyKey, c.Headers["x-name"]), nil
			}}},
	}
	event := check.Get(json.Marshal(map[string]any{
		"version": "2.0", "rawPath": "/messages", "headers": headers, "requestContext": map[string]any{"http": map[string]any{"method": "POST"}},
		"body": base64.StdEncoding.EncodeToString(body), "isBase64Encoded": true,
	}))
	// A header's byte that is not UTF-8 stays what it is in the event.
	event = bytes.ReplaceAll(event, []byte("LATIN"), []byte{0xE9})
	var answer struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	check.OK(t, json.Unmarshal([]byte(handled(t, api, string(event))), &answer))
	_ = json.Unmarshal([]byte(answer.Body), &document)
	if document == "" {
		document = answer.Body
	}
	return answer.StatusCode, document, answer.Headers
}

// TestBodies: gzip is unpacked within the bound, a byte order mark passed over, and no byte of a
// header replaced.
func TestBodies(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	cut := zipped(t, `{"a":1}`, 1)
	for name, c := range map[string]struct {
		headers map[string]string
		body    []byte
		status  int
		want    string
	}{
		"plain":             {nil, []byte(`{"a":1}`), 200, `{"a":1}||`},
		"identity":          {map[string]string{"Content-Encoding": "identity"}, []byte(`{"a":1}`), 200, `{"a":1}||`},
		"gzip":              {map[string]string{"Content-Encoding": "gzip"}, zipped(t, `{"a":1}`, 1), 200, `{"a":1}||`},
		"GZIP, marked":      {map[string]string{"content-encoding": " X-GZIP"}, zipped(t, mark+`{"a":1}`, 1), 200, `{"a":1}||`},
		"as large as it is": {map[string]string{"content-encoding": "gzip"}, zipped(t, strings.Repeat(" ", 1<<10), 6<<10), 200, " |"},
		"a bomb":            {map[string]string{"content-encoding": "gzip"}, zipped(t, strings.Repeat(" ", 1<<20), 100), 413, "has more than 6291456 bytes"},
		"no gzip":           {map[string]string{"content-encoding": "gzip"}, []byte(`{"a":1}`), 400, "request body is not gzip"},
		"cut off":           {map[string]string{"content-encoding": "gzip"}, cut[:len(cut)-1], 400, "request body is not gzip"},
		"another":           {map[string]string{"content-encoding": "br"}, []byte(`x`), 415, `content-encoding is \"br\": it must be gzip`},
		"two":               {map[string]string{"content-encoding": "gzip, gzip"}, zipped(t, `x`, 1), 415, `is \"gzip, gzip\"`},
		"marked":            {nil, []byte(mark + `{"a":1}`), 200, `{"a":1}||`},
		"marked data of a CloudEvent": {
			map[string]string{"ce-specversion": "1.0"}, []byte(mark + `x`), 200, mark + `x||`,
		},
		"Latin-1 as UTF-8":  {map[string]string{"X-Name": "é"}, []byte(`1`), 200, "1||é"},
		"Latin-1 as it was": {map[string]string{"X-Name": "LATIN"}, []byte(`1`), 400, "x-name has a byte that is not UTF-8"},
		"replaced before":   {map[string]string{"X-Name": "\uFFFD"}, []byte(`1`), 400, "x-name has a byte that is not UTF-8"},
	} {
		status, document, headers := post(t, c.headers, c.body)
		check.That(t, status == c.status && strings.Contains(document, c.want),
			"%s: %d %.200s, want %d %s", name, status, document, c.status, c.want)
		check.Is(t, headers["accept-encoding"] == "gzip", status == 415, name)
	}
}

// TestIdempotencyKeys are strings of structured fields, whose parameters mean nothing, or texts
// without quotes.
func TestIdempotencyKeys(t *testing.T) {
	for value, want := range map[string]string{
		`"8e03978e"`: "8e03978e", ` "a b" `: "a b", `"a\"b\\c"`: `a"b\c`, `"a";x`: "a", `"a"; x=1;y="q;\"";z=?0;t=*tok/en;b=:YQ==:;n=-1.5`: "a",
		`8e03978e`: "8e03978e", `a;x=1`: "a;x=1", `a"b`: `a"b`,
		`"a`: "", `"a","b"`: "", `"a"b`: "", `"a\n"`: "", `"é"`: "", `"a";X=1`: "", `"a";x=`: "", `""`: "",
	} {
		status, document, _ := post(t, map[string]string{"Idempotency-Key": value}, []byte("1"))
		refused := status == 400 && strings.Contains(document, `"field":"Idempotency-Key"`)
		check.That(t, want == "" && refused || want != "" && document == "1|"+want+"|",
			"%s: %d %s, want %s, or a refusal", value, status, document, want)
	}
}

// FuzzIdempotencyKey: what begins with a quote is one string, or refused.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{`"a";x=1`, `"\"`, `"a"; x="y`, `a`, `"a" ;x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		status, document, _ := post(t, map[string]string{"idempotency-key": value}, []byte("1"))
		check.That(t, status == 200 || status == 400, "%q: %d %s", value, status, document)
	})
}
