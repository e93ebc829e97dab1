package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestPartsOfATenant are asked for by the names that a tenant has for them.
func TestPartsOfATenant(t *testing.T) {
	edge := xorack.Root(tenant.Name("acme", "t"), "", 0)
	_, first := tenant.Split(edge.Fan(100)[0].Tag())
	var asked []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tag := r.URL.Query().Get("tag")
		asked = append(asked, tag)
		if tag != "t" && tag != first {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"no-chain","detail":"there is no such chain"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"chain":{"tag":%q,"state":"OPEN","edges":3}}`, tag)
	})
	out, errOut, code := prints(t, "--url", server, "chain", "t", "--edge", edge.String())
	if code != 0 || !strings.Contains(out, "╰─ "+first+"  ") || strings.Contains(strings.Join(asked, " "), "@acme") {
		t.Errorf("exit code %d, asked for %q, %s%s", code, asked, out, errOut)
	}
}

// TestAboutAChain says what the API knows, also of one that is a part, and of one that nobody
// created.
func TestAboutAChain(t *testing.T) {
	for _, c := range []struct {
		of   chain
		want string
	}{
		{chain{Tag: "@acme/fan.x", State: "OPEN", Created: true}, "  a part of a fan: it ends an edge of the chain above it\n"},
		{chain{Tag: "t", State: "OPEN", Edges: 1}, "t: OPEN, 0 of 1 edge ended\n  not created yet: operations came before it\n"},
		{chain{Tag: "t\x1b", State: "FAILED", Created: true, Reason: "no\nroom"}, "  reason: no\\nroom\n"},
	} {
		if got := c.of.about(clock{}); !strings.Contains(got, c.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%q, want %q in it", got, c.want)
		}
	}
}

// TestBar is full only where all is done.
func TestBar(t *testing.T) {
	for want, c := range map[int]chain{0: {}, 19: {Edges: 1000, EdgesEnded: 999}, 20: {Edges: 3, EdgesEnded: 3}} {
		if got := strings.Count(c.bar(), "█"); got != want || len([]rune(c.bar())) != barWidth {
			t.Errorf("%+v: %s", c, c.bar())
		}
	}
}
