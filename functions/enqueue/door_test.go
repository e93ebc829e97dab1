package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
)

// doors are the aliases by which POST /messages comes: those of the HTTP API and of the function
// URL.
var doors = []string{"live", urlAlias}

// through has requests come by an alias.
func (s *server) through(t *testing.T, alias string) {
	s.Client = httpapitest.New(t,
		func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
			return s.handle(invoked(ctx, alias, ""), raw)
		})
}

// TestFunctionURL: by the alias of the function URL the function puts, as by the HTTP API, and
// answers nothing else.
func TestFunctionURL(t *testing.T) {
	s := newServer(t, nil)
	s.through(t, urlAlias)
	s.Want("one", s.put(1, `"a"`), 200, `"outcome":"advanced"`)
	s.Want("again", s.put(1, `"a"`), 200, `"outcome":"duplicate"`)
	s.Want("another", s.put(1, `"b"`), 409, "problems/conflict")
	s.Want("a batch",
		s.Request("POST", "/messages", "",
			`{"messages":[{"queue":"q","seq":2,"body":1},{"queue":"q","seq":4,"body":1}]}`), 200,
		`"outcome":"parked"`)
	s.Want("read", s.Request("GET", "/messages", "queue=q", ""), 405, "problems/no-method")
	s.Want("set up", s.Request("PUT", "/queues", "", `{"queue":"q","policy":"skip"}`), 404,
		"problems/no-route")
	for _, direct := range []string{`{"queue":"q","seq":3,"body":1}`,
		`{"operation":"configure","queue":"q","policy":"skip"}`} {
		check.Has(t, s.invokeAs(t, invoked(t.Context(), urlAlias, ""), direct),
			`"code":"misplaced"`, direct)
	}
}
