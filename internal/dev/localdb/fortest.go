package localdb

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
)

// shared are the servers of this test binary, one of each kind: they end with it.
var shared = struct {
	sync.Mutex
	servers map[Kind]*Server
}{servers: map[Kind]*Server{}}

// ForTest returns the endpoint of this test binary's server of that kind. A server that cannot be
// started fails the test; it never skips it. A test that fails while its server dies says so, and
// the next test gets another server.
func ForTest(t testing.TB, kind Kind) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	s := shared.servers[kind]
	if s != nil {
		if _, ended := s.process.Ended(); ended {
			s = nil
		}
	}
	if s == nil {
		var err error
		if s, err = Start(context.Background(), kind, ""); err != nil {
			t.Fatalf("integration tests need %s: %v", kind, err)
		}
		shared.servers[kind] = s
	}
	t.Cleanup(func() {
		if how, ended := s.process.Ended(); ended && t.Failed() {
			t.Logf("%s has ended: %s", kind, how)
		}
	})
	return s.Endpoint
}

// Suffix makes a table's name one that no other test has.
func Suffix() string {
	return "-" + strings.ToLower(rand.Text())
}
