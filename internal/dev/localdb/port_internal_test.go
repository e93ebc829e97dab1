package localdb

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/child"
)

// TestAnotherAnswers at the port: it is not taken for the server, which ends since the port is
// taken.
func TestAnotherAnswers(t *testing.T) {
	exited := make(chan struct{})
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", serverHeaders[Dynoxide]+"1")
		if asked++; asked == 2 {
			close(exited)
		}
	}))
	defer other.Close()
	await := func(kind Kind) error {
		return child.Await(t.Context(), exited, func(ctx context.Context) error {
			return ask(ctx, other.URL, serverHeaders[kind])
		})
	}
	check.That(t, await(DynamoDBLocal) != nil, "another server is taken for DynamoDB Local")
	check.OK(t, await(Dynoxide))
}
