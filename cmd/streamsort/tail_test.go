package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestFollowWaitsForAQueue that nothing was put to yet; without -f that is an error.
func TestFollowWaitsForAQueue(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	calls := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch calls++; calls {
		case 1, 2:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"no-queue","detail":"nothing was ever put to this queue"}`)
		case 3:
			_, _ = io.WriteString(w, `{"last":1,"position":1,"messages":[{"seq":1,"id":"a","body":7}]}`)
		default:
			interrupt()
			_, _ = io.WriteString(w, `{"last":1,"position":1,"messages":[]}`)
		}
	})
	_, errOut, code := printsOf(ctx, "", "--url", server, "tail", "q")
	check.That(t, code == 1 && strings.Contains(errOut, "nothing was ever put"), "without -f: exit code %d, %s", code, errOut)
	out, errOut, code := printsOf(ctx, "", "--url", server, "tail", "-f", "q")
	check.That(t, code == 0 && out == "1\ta\t7\n" && errOut == "streamsort: waiting for more of q; an interrupt ends it\n",
		"exit code %d, %q, %s", code, out, errOut)
}

// TestControlCharacters of a message or a name do nothing to the terminal; those that are no harm
// to it are shown as they are, and JSON escapes the others, and is equal.
func TestControlCharacters(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/queues" || r.URL.Path == "/consumers" {
			_, _ = io.WriteString(w, `{"queue":"\u001b]0;x\u0007\nq","kind":"arrival","position":1,"first":1,"consumers":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"last":1,"position":1,"messages":[{"seq":1,"id":"a\u001b[2J\n\t\u202eé","body":"`+"\u009b31m \u00a0ü"+`"}]}`)
	})
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"tail", "q"}, "1\ta\\x1b[2J\\n\\t\\u202eé\t\"\\u009b31m \u00a0ü\"\n"},
		{[]string{"queue", "q"}, "\\x1b]0;x\\a\\nq: position 1, in arrival order\n  first 1\n\nno consumer\n"},
		{[]string{"-o", "json", "tail", "q"}, `{"seq":1,"id":"a\u001b[2J\n\t\u202eé","body":"\u009b31m ` + "\u00a0ü\"}\n"},
	} {
		out, errOut, code := prints(t, append([]string{"--url", server}, c.arguments...)...)
		check.That(t, code == 0 && out == c.want,
			"%v: exit code %d, %q, want %q; %s", c.arguments, code, out, c.want, errOut)
	}
}
