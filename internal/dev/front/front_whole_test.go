//go:build whole

package front

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
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
	server, err := Start(t.Context(), ddbtest.Servers(t)[0], "", through)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := dynamo.New(&dynamo.Options{Endpoint: server.URL, MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ListTables(t.Context(), nil); err != nil {
		t.Error(err)
	}
	through.closed.Store(true)
	if _, err := client.ListTables(t.Context(), nil); err == nil {
		t.Error("there is an answer, and its response is lost")
	}
	if n := through.requests.Load(); n < 2 {
		t.Errorf("%d requests passed", n)
	}
}

// TestSteady: a server that somebody gives is taken.
func TestSteady(t *testing.T) {
	if got := Steady(); got != localdb.DynamoDBLocal && got != localdb.Given {
		t.Error(got)
	}
}
