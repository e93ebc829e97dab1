package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestInspectSkipped: who skipped a message has not had it.
func TestInspectSkipped(t *testing.T) {
	api := answers(t, map[string]string{
		"/queues":   `{"queue":"q","position":9}`,
		"/messages": `{"messages":[{"seq":7,"body":1}]}`,
		"/operations": `{"operations":[{"consumer":"a","action":"skip","seq":7,"outcome":"done"},` +
			`{"consumer":"b","action":"skip","seq":7,"outcome":"refused"},{"consumer":"c","action":"skip","seq":6,"outcome":"done"}]}`,
		"/consumers": `{"consumers":[{"consumer":"a","delivered":7},{"consumer":"b","delivered":8},{"consumer":"c","delivered":6}]}`,
	})
	out, errOut, code := prints(t, "--url", api, "inspect", "q@7")
	check.Need(t, code == exitDone, "exit %d: %s", code, errOut)
	for _, want := range []string{"a is past it, which an operator skipped", "b is past it",
		"c has not had it: it is at 6"} {
		check.That(t, strings.Contains(out, "  "+want+"\n"), "no %q in\n%s", want, out)
	}
}

// TestNeverComes: a place that was given up, and one whose message is deleted, are said so.
func TestNeverComes(t *testing.T) {
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer, found := map[string]string{
			"/queues":           `{"queue":"q","position":9}`,
			"/messages?after=6": `{"messages":[{"seq":7,"tombstone":"the gap was open for 2m0s","enqueuedAt":"2026-01-02T03:04:05Z"}]}`,
			"/messages?after=7": `{"messages":[]}`,
			"/operations":       `{"operations":[]}`,
			"/consumers":        `{"consumers":[{"consumer":"a","delivered":9}]}`,
		}[r.URL.Path+strings.TrimSuffix("?after="+r.URL.Query().Get("after"), "?after=")]
		check.That(t, found, "asked for %s", r.URL)
		_, _ = io.WriteString(w, answer)
	})
	const skipped = "q@7: skipped 2026-01-02T03:04:05Z: no message will ever have this place\n  7\t\t(the gap was open for 2m0s)\n"
	for _, c := range []struct {
		message, want string
	}{
		{"q@7", skipped + "  a is past it\n"},
		{"q@8", "q@8: in order, and no longer stored\n  a is past it\n"},
	} {
		out, errOut, code := prints(t, "--url", api, "inspect", c.message)
		check.That(t, code == exitDone && out == c.want,
			"%s: exit %d\n%s%s", c.message, code, out, errOut)
	}
}

// TestInspectAnswer: what the sink answered is shown of the message that it was about, and of no
// other.
func TestInspectAnswer(t *testing.T) {
	const answer = `"answer":{"code":202,"ms":34,"at":"2026-01-02T03:04:05Z","text":"queued\u001b[31m"}`
	api := answers(t, map[string]string{
		"/queues":     `{"queue":"q","position":9}`,
		"/messages":   `{"messages":[{"seq":7,"body":1}]}`,
		"/operations": `{"operations":[]}`,
		"/consumers":  `{"consumers":[{"consumer":"a","delivered":7,` + answer + `},{"consumer":"b","delivered":8,` + answer + `}]}`,
	})
	out, errOut, code := prints(t, "--url", api, "inspect", "q@7")
	check.Need(t, code == exitDone, "exit %d: %s", code, errOut)
	text := out
	check.That(t, strings.Count(text, "its sink answered 202 queued") == 1 &&
		strings.Contains(text, " in 34 ms, ") && !strings.Contains(text, "\x1b"), "shown:\n%s", text)
}

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
	check.That(t, code == 1 && strings.Contains(errOut, "nothing was ever put"),
		"without -f: exit code %d, %s", code, errOut)
	out, errOut, code := printsOf(ctx, "", "--url", server, "tail", "-f", "q")
	check.That(t, code == 0 && out == "1\ta\t7\n" &&
		errOut == "streamsort: waiting for more of q; an interrupt ends it\n",
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
