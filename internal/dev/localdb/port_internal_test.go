package localdb

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestPortIsHeld from others who ask for one, until it is given back.
func TestPortIsHeld(t *testing.T) {
	port, held := check.Get2(FreePort())
	address := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	if other, err := net.ListenUDP("udp", address); err == nil {
		_ = other.Close()
		t.Error("a second one holds the port")
	}
	check.OK(t, held.Close())
	other, err := net.ListenUDP("udp", address)
	check.Need(t, err == nil, "the port is held still: %v", err)
	_ = other.Close()
}

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
