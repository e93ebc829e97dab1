package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/faulty"
)

// healthy answers every request.
type healthy struct{ requests int }

func (h *healthy) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests++
	return &http.Response{StatusCode: http.StatusOK, Request: r,
		Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestNetwork(t *testing.T) {
	server := &healthy{}
	n := newNetwork(server, 1, faulty.Refused, faulty.Throttled, faulty.Lost, faulty.Failed)
	call := func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://nowhere",
			strings.NewReader("{}"))
		check.OK(t, err)
		response, err := n.RoundTrip(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		text := check.Get(io.ReadAll(response.Body))
		return response.Status + string(text)
	}
	calm := func(times int) {
		for range times {
			got := call()
			check.Need(t, got == "{}", "undisturbed, the answer is %s", got)
		}
	}
	calm(1000)
	n.disturb(true)
	const requests = 10_000
	wrong := map[string]int{}
	for range requests {
		if got := call(); got != "{}" {
			wrong[got]++
		}
	}
	sum := 0
	for _, times := range wrong {
		sum += times
	}
	check.That(t, sum >= requests/between/2 && sum <= 2*requests/between && len(wrong) >= 3,
		"%d requests of %d went wrong: %v", sum, requests, wrong)
	planned := n.count()
	check.That(t, planned == sum || planned == sum+1, "%d were planned, %d went wrong", planned, sum)
	n.disturb(false)
	calm(1000)
	done := server.requests
	check.That(t, done < requests+2000 && done >= requests, "%d %d", done, requests+2000)
	for _, kind := range []faulty.Fault{faulty.Refused, faulty.Throttled, faulty.Lost, faulty.Failed} {
		check.That(t, strings.Contains(n.String(), string(kind)), "no %q in %q", kind, n.String())
	}
}
