package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery/otel/otlp"
)

// ended is a span that has ended, and the flush that sends it to a server.
func ended(t *testing.T, url string) (flush func(context.Context)) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	provider, flush := check.Get2(otlp.New(t.Context(), "process"))
	_, span := provider.Tracer("test").Start(t.Context(), "a batch")
	span.End()
	return flush
}

// TestSpansAreSent by the flush, under the service's name.
func TestSpansAreSent(t *testing.T) {
	var path string
	var sent []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		path = r.URL.Path
		sent, _ = io.ReadAll(body)
	}))
	defer server.Close()
	for service, want := range map[string]string{"": "process", "mine": "mine"} {
		sent = nil
		t.Setenv("OTEL_SERVICE_NAME", service)
		flush := ended(t, server.URL)
		if sent != nil {
			t.Error("it was sent before")
		}
		flush(t.Context())
		if path != "/v1/traces" || !bytes.Contains(sent, []byte("a batch")) ||
			!bytes.Contains(sent, []byte(want)) {
			t.Errorf("%s: %d bytes to %s", want, len(sent), path)
		}
	}
}

// TestNobodyTakesThem: the flush ends, and nothing fails.
func TestNobodyTakesThem(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	ended(t, server.URL)(t.Context())
}
