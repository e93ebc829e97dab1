package ministack

import (
	"context"
	"sync"
	"testing"
	"time"
)

// shared is the server of this test binary, which ends with it.
var shared struct {
	sync.Mutex
	server *Server
}

// ForTest returns this test binary's server, which all its tests share: give what is made on it
// names of its own. One that cannot be installed or started fails the test; it never skips it.
func ForTest(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		return shared.server
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	s, err := Start(ctx)
	if err != nil {
		t.Fatalf("integration tests need MiniStack: %v", err)
	}
	shared.server = s
	return s
}
