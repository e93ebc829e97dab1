package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// blockedQueues answers as the API does where the consumer c is blocked in q0, q1 and q2; operate
// is what it does for an operation.
func blockedQueues(t *testing.T, operate func(queue, id string) (int, string)) (url string) {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		const row = `"consumer":"c","seq":7,"error":"HTTP 500\u001b[2J","since":"2026-01-02T03:04:05Z","ageSeconds":1}`
		answer := `{"list":[{"queue":"q0",` + row + `,{"queue":"q1",` + row +
			`,{"queue":"q2",` + row + `]}`
		switch {
		case r.Method == http.MethodPost:
			var asked struct{ Queue, ID string }
			_ = json.NewDecoder(r.Body).Decode(&asked)
			status, body := operate(asked.Queue, asked.ID)
			w.WriteHeader(status)
			answer = body
		case r.URL.Path == "/operations":
			answer = `{"operations":[]}`
		case r.URL.Query().Has("queue"):
			answer = `{"consumers":[{"consumer":"c","blocked":{"seq":7,"since":"2026-01-02T03:04:05Z"}}]}`
		}
		_, _ = io.WriteString(w, answer)
	})
}

func redriveAll(ctx context.Context, url string, more ...string) (out, errOut string, code int) {
	line := []string{"--url", url, "redrive", "--reason", "the ledger is back", "--rate", "1000"}
	return printsOf(ctx, "", append(line, more...)...)
}

// TestBulkIsADryRunFirst: without --yes, and where nobody can be asked, nothing is done.
func TestBulkIsADryRunFirst(t *testing.T) {
	url := blockedQueues(t, func(queue, _ string) (int, string) {
		t.Errorf("%s is acted on", queue)
		return 200, "{}"
	})
	out, errOut, code := redriveAll(t.Context(), url)
	want := "redrive would be done to 3 consumers, 1000 a second, and is not done yet\n" +
		"  q0@7\tc\tHTTP 500\\x1b[2J\n  q1@7\tc\tHTTP 500\\x1b[2J\n  q2@7\tc\tHTTP 500\\x1b[2J\n"
	check.That(t, code == exitDone && out == want && errOut == "nothing is done: --yes does it\n",
		"exit code %d, %q, %q", code, out, errOut)
	want = `"action":"redrive","rate":1000,"selected":3,"first":[{"queue":"q0","consumer":"c","seq":7,"error":"HTTP 500\u001b[2J"}`
	if out, _, code := redriveAll(t.Context(), url, "-o", "json"); code != exitDone ||
		!strings.Contains(out, want) {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// TestBulkReport: what became of each, and exit code 1 where any failed.
func TestBulkReport(t *testing.T) {
	asked := map[string]string{}
	refuses := true
	url := blockedQueues(t, func(queue, id string) (int, string) {
		asked[queue] = id
		switch {
		case queue == "q1":
			return 409, `{"code":"not-blocked","detail":"the consumer is not blocked"}`
		case queue == "q2" && refuses:
			return 409, `{"code":"quarantined","detail":"settle it"}`
		}
		return 200, "{}"
	})
	out, errOut, code := redriveAll(t.Context(), url, "--yes")
	name := regexp.MustCompile(`--run ([0-9a-z]+)\n$`).FindStringSubmatch(errOut)
	for _, want := range []string{
		"redrive is done to 3 consumers, 1000 a second, as run ",
		"redrive of 3 consumers: 1 done, 0 done already, 1 changed meanwhile, 1 failed\n",
		"  q1\tc\tchanged: 409: the consumer is not blocked\n", "  q2\tc\tfailed: 409: settle it\n",
	} {
		check.That(t, strings.Contains(out, want), "it has no %q: %s", want, out)
	}
	check.Need(t, code == exitRefused && name != nil && strings.HasPrefix(asked["q0"], name[1]+"-"),
		"exit code %d, %s, %v", code, errOut, asked)
	refuses = false
	first := asked["q2"]
	out, errOut, code = redriveAll(t.Context(), url, "--yes", "--run", name[1])
	if code != exitDone || asked["q2"] != first || errOut != "" ||
		!strings.Contains(out, "2 done, 0 done already, 1 changed meanwhile, 0 failed") {
		t.Errorf("exit code %d, %s, %s: the id was %s, and is %s", code, out, errOut, first, asked["q2"])
	}
}

// TestBulkInterrupted ends cleanly, with the report, and says how to go on.
func TestBulkInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	url := blockedQueues(t, func(string, string) (int, string) {
		interrupt()
		return 200, "{}"
	})
	out, errOut, code := redriveAll(ctx, url, "--yes", "--rate", "1")
	report := regexp.MustCompile(
		`of 3 consumers: [12] done, 0 done already, 0 changed meanwhile, 0 failed\n`)
	goOn := regexp.MustCompile(
		`^streamsort: interrupted; to go on: the same command with --run [0-9a-z]+\n$`)
	check.That(t, code == exitRefused && report.MatchString(out) && goOn.MatchString(errOut),
		"exit code %d, %s, %s", code, out, errOut)
	_, errOut, code = redriveAll(ctx, url, "--yes")
	check.That(t, code == exitRefused && strings.Contains(errOut, "interrupted: nothing is done"),
		"exit code %d, %s", code, errOut)
}
