package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/faulty"
)

// healthy answers every request.
type healthy struct{ requests int }

func (h *healthy) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests++
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestNetwork(t *testing.T) {
	server := &healthy{}
	n := newNetwork(server, 1, faulty.Refused, faulty.Throttled, faulty.Lost, faulty.Failed)
	call := func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://nowhere", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := n.RoundTrip(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.Status + string(text)
	}
	calm := func(times int) {
		for range times {
			if got := call(); got != "{}" {
				t.Fatalf("undisturbed, the answer is %s", got)
			}
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
	if sum < requests/between/2 || sum > 2*requests/between || len(wrong) < 3 {
		t.Errorf("%d requests of %d went wrong: %v", sum, requests, wrong)
	}
	if planned := n.count(); planned != sum && planned != sum+1 {
		t.Errorf("%d were planned, %d went wrong", planned, sum)
	}
	n.disturb(false)
	calm(1000)
	if done := server.requests; done >= requests+2000 || done < requests {
		t.Errorf("%d requests had an effect, of %d", done, requests+2000)
	}
	for _, kind := range []faulty.Fault{faulty.Refused, faulty.Throttled, faulty.Lost, faulty.Failed} {
		if !strings.Contains(n.String(), string(kind)) {
			t.Errorf("no %q in %q", kind, n.String())
		}
	}
}
