package ministack

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// shared is the server of this test binary, which ends with it.
var shared = sync.OnceValues(func() (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return Start(ctx)
})

// ForTest returns this test binary's server, which all its tests share: give what is made on it
// names of its own. One that cannot be installed or started fails the tests; it never skips them.
func ForTest(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	check.Need(t, err == nil, "integration tests need MiniStack: %v", err)
	return s
}
