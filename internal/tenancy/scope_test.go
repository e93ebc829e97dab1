package tenancy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// acme is the scope of the tenant acme.
func acme(t *testing.T) tenancy.Scope {
	t.Helper()
	scope, err := tenancy.Caller{
		Claims: map[string]json.RawMessage{"org": json.RawMessage(`"acme"`)},
	}.Scope("org")
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// A name comes out as it went in, and one that is not the tenant's never does.
func TestScope(t *testing.T) {
	scope := acme(t)
	for _, name := range []string{"q", "@globex/q", "/", "@acme/q", strings.Repeat("n", 1018)} {
		full, err := scope.Full("queue", name)
		if err != nil || full != "@acme/"+name || scope.Short(full) != name {
			t.Errorf("%q is stored as %q (%v), and shown as %q", name, full, err, scope.Short(full))
		}
	}
	if full, err := scope.Full("queue", ""); full != "" || err != nil {
		t.Errorf("no name became %q, %v", full, err)
	}
	if others := scope.Short("@acmee/q") + scope.Short("@acm/q") + scope.Short("q") +
		scope.Short("@acme/"); others != "" {
		t.Errorf("others' names are shown: %q", others)
	}
	for id, want := range map[string]string{"@acme/1": "1", "@globex/2": "", "3": "3"} {
		if got := scope.ShortID(id); got != want {
			t.Errorf("the id %q is shown as %q, want %q", id, got, want)
		}
	}
}

// What is another's is refused, with the field that names it.
func TestOwns(t *testing.T) {
	scope := acme(t)
	if err := scope.Owns("edge", "@acme/q"); err != nil {
		t.Error(err)
	}
	for _, foreign := range []string{"@globex/q", "q", "@acme", "@ACME/q", ""} {
		err := scope.Owns("edge", foreign)
		var wrong *invalid.Error
		if !errors.Is(err, tenancy.ErrNotYours) || !errors.As(err, &wrong) || wrong.Field != "edge" {
			t.Errorf("%q: %v", foreign, err)
		}
	}
}

// The tenant takes its part of a name's room.
func TestLongNames(t *testing.T) {
	_, err := acme(t).Full("queue", strings.Repeat("n", 1019))
	var wrong *invalid.Error
	if !errors.As(err, &wrong) || wrong.Code != invalid.TooLarge || wrong.Size != 1019 ||
		wrong.Most != 1018 || wrong.Field != "queue" {
		t.Errorf("a long name: %v", err)
	}
}

// An operator names all things in full.
func TestOperator(t *testing.T) {
	scope, err := tenancy.Caller{Signed: true}.Scope("org")
	if err != nil {
		t.Fatal(err)
	}
	full, err := scope.Full("queue", "q")
	if full != "q" || err != nil || scope.Short("@acme/q") != "@acme/q" ||
		scope.ShortID("@acme/1") != "@acme/1" || scope.Owns("edge", "@acme/q") != nil {
		t.Errorf("%q, %v, %q", full, err, scope.Short("@acme/q"))
	}
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
		if got := acme(t).Words(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := (tenancy.Scope{}).Words(text); got != text {
			t.Errorf("an operator reads %q of %q", got, text)
		}
	}
}
