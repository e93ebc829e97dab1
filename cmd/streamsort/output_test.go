package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// odd is a name as JSON has it: it ends a line, orders a terminal about by a control character of
// C1, and turns the direction of what follows.
const odd = `a\r\nb\tc` + "\u009b2J\u202ed"

// serve is the URL of a server that ends with the test.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// answers is an API that answers with a document to each path, and 404 else.
func answers(t *testing.T, documents map[string]string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		document, is := documents[r.URL.Path]
		if !is {
			w.WriteHeader(http.StatusNotFound)
			document = `{"status":404,"detail":"nothing is there"}`
		}
		_, _ = io.WriteString(w, document)
	})
}

func prints(t *testing.T, arguments ...string) (out, errOut string, code int) {
	t.Helper()
	return printsOf(t.Context(), "", arguments...)
}

// printsOf is what a line prints that reads an input, until the context ends.
func printsOf(ctx context.Context, in string, arguments ...string) (out, errOut string, code int) {
	var o, e bytes.Buffer
	code = run(ctx, arguments, strings.NewReader(in), &o, &e)
	return o.String(), e.String(), code
}

// TestNamesOfOthers: whatever is in a name, a list has a line for each, a terminal is not ordered
// about, and JSON is equal to what the API answered.
func TestNamesOfOthers(t *testing.T) {
	queue := `{"queue":"` + odd + `","kind":"numbered","first":1,"position":1,"gapOpen":true,"policy":"wait","lag":1}`
	list := `{"list":[` + queue + `,{"queue":"` + odd + `","tag":"` + odd +
		`","consumer":"c","state":"BLOCKED","lag":1}]}`
	operations := `{"operations":[{"at":"2026-01-01T00:00:00Z","consumer":"c","action":"pause",` +
		`"outcome":"done","reason":"` + odd + `","id":"` + odd + `"}]}`
	url := answers(t, map[string]string{
		"/queues": list, "/consumers": list, "/chains": list, "/operations": operations,
	})
	for _, verb := range []string{
		"queue", "queue --state gap", "consumer", "consumer --state blocked", "chain", "queue q --audit",
	} {
		for _, format := range []string{"text", "table", "json", "jsonl"} {
			out, errOut, code := prints(t,
				append([]string{"--url", url, "-o", format}, strings.Fields(verb)...)...)
			lines := map[string]int{"text": 2, "table": 3, "json": 1, "jsonl": 2}[format]
			if verb == "queue q --audit" {
				lines = map[string]int{"text": 1, "table": 2, "json": 1, "jsonl": 1}[format]
			}
			escaped := !strings.ContainsAny(out, "\r\u009b\u202e") && strings.Contains(out, `a\r\nb\tc`)
			check.That(t, code == exitDone && strings.Count(out, "\n") == lines && escaped,
				"%s, %s: exit code %d, %q, %s", verb, format, code, out, errOut)
			if format != "json" {
				continue
			}
			var got []map[string]any
			want := "a\r\nb\tc\u009b2J\u202ed"
			err := json.Unmarshal([]byte(out), &got)
			check.That(t, err == nil && (got[0]["queue"] == want || got[0]["reason"] == want),
				"%s: %q, %v", verb, out, err)
		}
	}
}

// TestRedriveOfWhatBlocks: the seq need not be typed; where nothing blocks, that is said.
func TestRedriveOfWhatBlocks(t *testing.T) {
	var asked string
	blocked := `,"blocked":{"seq":"9007199254740993"}`
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			asked = string(body)
			_, _ = io.WriteString(w, `{"consumer":"c","state":"IDLE"}`)
			return
		}
		_, _ = io.WriteString(w, `{"consumers":[{"consumer":"c","state":"IDLE"`+blocked+`}]}`)
	})
	line := []string{"--url", server, "redrive", "q", "c", "--reason", "r"}
	out, errOut, code := prints(t, line...)
	check.That(t, code == exitDone && strings.Contains(asked, `"seq":"9007199254740993"`) &&
		strings.Contains(out, "tries 9007"),
		"exit code %d, %s%s; asked %s", code, out, errOut, asked)
	asked, blocked = "", ""
	_, errOut, code = prints(t, line...)
	check.That(t, code == exitRefused && asked == "" &&
		strings.Contains(errOut, `consumer c of queue "q" is not blocked`),
		"exit code %d, %s; asked %s", code, errOut, asked)
}

// TestExitCodes: those of the help.
func TestExitCodes(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("queue") == "q" {
			_, _ = io.WriteString(w, `{"queue":"q","first":1,"position":7,"consumers":[]}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"no-queue","detail":"nothing was ever put to this queue"}`)
	})
	for _, c := range []struct {
		line string
		code int
	}{
		{"--url " + server + " queue q", exitDone},
		{"--url " + server + " queue other", exitRefused},
		{"--url " + server + " tail", exitUsage},
		{"--url " + server + " queue q --every 1ms", exitUsage},
		{"--url " + server + " skip q@1 c --reason r --every 1s", exitUsage},
		{"--url http://127.0.0.1:1 queue q", exitUnreachable},
	} {
		_, errOut, code := prints(t, strings.Fields(c.line)...)
		check.That(t, code == c.code, "%s: exit code %d, want %d: %s", c.line, code, c.code, errOut)
	}
}

// TestWatch reads again until it is interrupted, which is no failure, and ends where a read fails.
func TestWatch(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	calls, broken := 0, false
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 3 && !broken {
			interrupt()
		}
		if calls == 3 && broken {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"detail":"broken"}`)
			return
		}
		_, _ = io.WriteString(w, `{"consumers":[{"consumer":"c"}]}`)
	})
	line := []string{"--url", server, "-o", "jsonl", "consumer", "q", "--every", "100ms"}
	out, errOut, code := printsOf(ctx, "", line...)
	check.That(t, code == exitDone && strings.Count(out, "\n") >= 2 && calls == 3,
		"exit code %d, %d calls, %q, %s", code, calls, out, errOut)
	calls, broken = 0, true
	out, errOut, code = prints(t, line...)
	check.That(t, code == exitRefused && strings.Count(out, "\n") == 2,
		"broken: exit code %d, %d calls, %q, %s", code, calls, out, errOut)
}

// TestAdvice about answers of what stands before the functions.
func TestAdvice(t *testing.T) {
	for status, want := range map[int]string{
		301: "--url", 401: "--token", 403: "--sign", 404: "--url", 429: "--concurrency", 500: "log", 503: "log", 400: "",
	} {
		got := advice(&client.Problem{Status: status}, "http://127.0.0.1:3000")
		check.That(t, strings.Contains(got, want) && (got == "") == (want == ""),
			"%d: %q, want %q", status, got, want)
	}
	for _, err := range []error{errors.New("else"), &client.Problem{Status: 404, Code: "no-queue"}} {
		check.Is(t, advice(err, "http://127.0.0.1:3000"), "", err)
	}
}

// TestInspect: a consumer that skipped a message has not had it; a place that was given up, and one
// whose message is deleted, are said so; and what a sink answered is shown of the message that it
// was about, and of no other.
func TestInspect(t *testing.T) {
	const answer = `"answer":{"code":202,"ms":34,"at":"2026-01-02T03:04:05Z","text":"queued\u001b[31m"}`
	const none, past = `{"operations":[]}`, `{"consumers":[{"consumer":"a","delivered":9}]}`
	const stored = `{"messages":[{"seq":7,"body":1}]}`
	for _, c := range []struct{ messages, operations, consumers, want string }{
		{
			stored, `{"operations":[{"consumer":"a","action":"skip","seq":7,"outcome":"done"},` +
				`{"consumer":"b","action":"skip","seq":7,"outcome":"refused"},{"consumer":"c","action":"skip","seq":6,"outcome":"done"}]}`,
			`{"consumers":[{"consumer":"a","delivered":7},{"consumer":"b","delivered":8},{"consumer":"c","delivered":6}]}`,
			"  a is past it, which an operator skipped\n  b is past it\n  c has not had it: it is at 6\n",
		},
		{
			`{"messages":[{"seq":7,"tombstone":"the gap was open for 2m0s","enqueuedAt":"2026-01-02T03:04:05Z"}]}`, none, past,
			"q@7: skipped 2026-01-02T03:04:05Z: no message will ever have this place\n  7\t\t(the gap was open for 2m0s)\n  a is past it\n",
		},
		{`{"messages":[]}`, none, past, "q@7: in order, and no longer stored\n  a is past it\n"},
		{
			stored, none, `{"consumers":[{"consumer":"a","delivered":7,` + answer + `},{"consumer":"b","delivered":8,` + answer + `}]}`,
			"  a is past it\n    its sink answered 202 queued\\x1b[31m in 34 ms, 2026-01-02T03:04:05Z\n  b is past it\n",
		},
	} {
		api := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/messages" {
				check.Is(t, r.URL.RawQuery, "after=6&queue=q&to=7")
			}
			_, _ = io.WriteString(w, map[string]string{"/queues": `{"queue":"q","position":9}`,
				"/messages": c.messages, "/operations": c.operations, "/consumers": c.consumers}[r.URL.Path])
		})
		out, errOut, code := prints(t, "--url", api, "inspect", "q@7")
		check.That(t, code == exitDone && strings.Contains(out, c.want) &&
			!strings.Contains(out, "\x1b") && (c.operations != none || strings.HasSuffix(out, c.want)),
			"exit %d: no %q at the end of\n%s%s", code, c.want, out, errOut)
	}
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
