package localdb

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
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
	err := awaitAnswer(t.Context(), other.URL, serverHeaders[DynamoDBLocal], exited)
	check.That(t, err != nil, "another server is taken for DynamoDB Local")
	err = awaitAnswer(t.Context(), other.URL, serverHeaders[Dynoxide], exited)
	check.That(t, err == nil, "%v", err)
}
