package localdb

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestPortIsHeld from others who ask for one, until it is given back.
func TestPortIsHeld(t *testing.T) {
	port, held, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	if other, err := net.ListenUDP("udp", address); err == nil {
		_ = other.Close()
		t.Error("a second one holds the port")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := net.ListenUDP("udp", address)
	if err != nil {
		t.Fatalf("the port is held still: %v", err)
	}
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
	if err := awaitAnswer(t.Context(), other.URL, serverHeaders[DynamoDBLocal], exited); err == nil {
		t.Error("another server is taken for DynamoDB Local")
	}
	if err := awaitAnswer(t.Context(), other.URL, serverHeaders[Dynoxide], exited); err != nil {
		t.Error(err)
	}
}
