package localdb

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestAnotherAnswers at the port: it is not taken for the server.
func TestAnotherAnswers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", serverHeaders[Dynoxide]+"1")
	}))
	defer other.Close()
	err := ask(t.Context(), other.URL, serverHeaders[DynamoDBLocal])
	check.That(t, err != nil, "another server is taken for DynamoDB Local")
	check.OK(t, ask(t.Context(), other.URL, serverHeaders[Dynoxide]))
}
