// Package bubble is for tests in a bubble of testing/synctest: time passes ([Sleep]), and requests
// are answered without a network ([Answered]).
package bubble

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Sleep lets time pass in a bubble of testing/synctest. It panics outside of one, where a test
// would wait for seconds.
func Sleep(d time.Duration) {
	// The real clock has a monotonic reading, which a bubble's has not.
	if strings.Contains(time.Now().String(), " m=") {
		panic("bubble: a test waits for a state (internal/dev/await), and sleeps in testing/synctest only")
	}
	time.Sleep(d)
}

// Answered runs a test in a bubble, where requests over [http.DefaultTransport] are answered
// without a network: a request may have less time than a busy machine takes for one.
func Answered(t *testing.T, by http.RoundTripper, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		was := http.DefaultTransport
		defer func() { http.DefaultTransport = was }()
		http.DefaultTransport = by
		test(t)
	})
}

// By answers as a handler does.
type By func(http.ResponseWriter, *http.Request)

// RoundTrip calls the handler.
func (by By) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	by(w, r)
	return w.Result(), nil
}
