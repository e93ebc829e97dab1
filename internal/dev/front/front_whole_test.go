//go:build whole

package front

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// broken counts what passes, and lets nothing through once it is closed.
type broken struct {
	next     http.RoundTripper
	requests atomic.Int64
	closed   atomic.Bool
}

func (b *broken) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests.Add(1)
	if b.closed.Load() {
		return nil, errors.New("closed")
	}
	return b.next.RoundTrip(r)
}

// TestStart: requests reach the server by what stands before it, and one that this fails has no
// answer.
func TestStart(t *testing.T) {
	through := &broken{next: Transport()}
	server := check.Get(Start(t.Context(), ddbtest.Servers(t)[0], "", through))
	defer server.Close()
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, MaxAttempts: 1}))
	_, err := client.ListTables(t.Context(), nil)
	check.That(t, err == nil, "%v", err)
	through.closed.Store(true)
	_, err = client.ListTables(t.Context(), nil)
	check.That(t, err != nil, "there is an answer, and its response is lost")
	n := through.requests.Load()
	check.That(t, n >= 2, "%d requests passed", n)
}
