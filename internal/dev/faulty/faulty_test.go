package faulty_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/faulty"
)

func TestOneRequestGoesWrong(t *testing.T) {
	for fault, want := range map[faulty.Fault]struct {
		status  int
		effects int
	}{
		faulty.Refused:   {500, 2},
		faulty.Throttled: {400, 2},
		faulty.Failed:    {500, 3},
		faulty.Lost:      {0, 3},
		faulty.TimedOut:  {0, 3},
		faulty.Repeated:  {200, 4},
	} {
		effects := 0
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err == nil && string(body) == "x" {
				effects++
			}
		}))
		transport := faulty.New(http.DefaultTransport)
		transport.Fail(2, fault)
		for i := 1; i <= 3; i++ {
			check.Is(t, transport.Pending(), (i <= 2), fault, i)
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, server.URL,
				strings.NewReader("x"))
			request.RequestURI = ""
			response, err := transport.RoundTrip(request)
			status := 0
			if err == nil {
				status = response.StatusCode
				_ = response.Body.Close()
			}
			expected := 200
			if i == 2 {
				expected = want.status
			}
			check.Is(t, status, expected, fault, i, err)
			check.That(t, i != 2 || fault != faulty.TimedOut || errors.Is(err, context.DeadlineExceeded),
				"error %v, want a time-out", err)
		}
		server.Close()
		check.Is(t, effects, want.effects, fault)
	}
}
