//go:build whole

package localdb

import (
	"net/http"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestTheNextTestHasAServer: a server that died does not fail the tests behind it.
func TestTheNextTestHasAServer(t *testing.T) {
	t.Setenv(endpointVariable, "") // a given server is nobody's here to end
	kind := Choose()
	first := ForTest(t, kind)
	shared.servers[kind].Close()
	second := ForTest(t, kind)
	check.Need(t, first != second, "the server that is gone is given again: %s", second)
	response, err := http.Get(second)
	check.OK(t, err)
	_ = response.Body.Close()
}
