package tenancy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// acme is the scope of the tenant acme.
func acme(t *testing.T) tenancy.Scope {
	t.Helper()
	return check.Get(tenancy.Caller{
		Claims: map[string]json.RawMessage{"org": json.RawMessage(`"acme"`)},
	}.Scope("org"))
}

// A name comes out as it went in, and one that is not the tenant's never does.
func TestScope(t *testing.T) {
	scope := acme(t)
	for _, name := range []string{"q", "@globex/q", "/", "@acme/q", strings.Repeat("n", 1018)} {
		full, err := scope.Full("queue", name)
		check.OK(t, err)
		check.Is(t, full, "@acme/"+name)
		check.Is(t, scope.Short(full), name)
	}
	check.Is(t, check.Get(scope.Full("queue", "")), "", "no name")
	for _, others := range []string{"@acmee/q", "@acm/q", "q", "@acme/"} {
		check.Is(t, scope.Short(others), "", others)
	}
	for id, want := range map[string]string{"@acme/1": "1", "@globex/2": "", "3": "3"} {
		check.Is(t, scope.ShortID(id), want, id)
	}
}

// What is another's is refused, with the field that names it.
func TestOwns(t *testing.T) {
	scope := acme(t)
	check.OK(t, scope.Owns("edge", "@acme/q"))
	for _, foreign := range []string{"@globex/q", "q", "@acme", "@ACME/q", ""} {
		err := scope.Owns("edge", foreign)
		check.Fails(t, err, tenancy.ErrNotYours, foreign)
		check.Is(t, check.As[*invalid.Error](t, err).Field, "edge", foreign)
	}
}

// The tenant takes its part of a name's room.
func TestLongNames(t *testing.T) {
	_, err := acme(t).Full("queue", strings.Repeat("n", 1019))
	wrong := check.As[*invalid.Error](t, err)
	check.That(t, wrong.Code == invalid.TooLarge && wrong.Size == 1019 && wrong.Most == 1018 &&
		wrong.Field == "queue", "a long name: %v", err)
}

// An operator names all things in full.
func TestOperator(t *testing.T) {
	scope, err := tenancy.Caller{Signed: true}.Scope("org")
	if err != nil {
		t.Fatal(err)
	}
	check.Is(t, check.Get(scope.Full("queue", "q")), "q")
	check.Is(t, scope.Short("@acme/q"), "@acme/q")
	check.Is(t, scope.ShortID("@acme/1"), "@acme/1")
	check.OK(t, scope.Owns("edge", "@acme/q"))
}

// TestWords: a tenant reads no address, however it is written, and all that only looks like one; an
// operator reads all.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"read tcp 10.0.1.7:43210->93.184.216.34:443: i/o timeout": "read tcp (an address)->(an address): i/o timeout",
		"lookup a.example on 169.254.78.1:53: no such host":       "lookup a.example on (an address): no such host",
		"dial tcp [2600:1f18::5%eth0]:443: refused":               "dial tcp (an address): refused",
		"dial fe80::: refused, 10.1.2.3.":                         "dial (an address): refused, (an address).",
		"at 12:30:45 seq 1.5 of q:7 failed: dead.beef: a::":       "at 12:30:45 seq 1.5 of q:7 failed: dead.beef: (an address)",
	} {
		check.Is(t, acme(t).Words(text), want)
		check.Is(t, (tenancy.Scope{}).Words(text), text, "an operator")
	}
}
