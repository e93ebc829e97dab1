package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestStateOfAConsumer: what an operator has to know stands in the line.
func TestStateOfAConsumer(t *testing.T) {
	for document, want := range map[string]string{
		`{"state":"ok"}`: "",
		`{"state":"ok","sink":{"failingSince":"2026-01-01T00:00:00Z","takenAt":"2026-01-01T00:00:00Z"}}`:                                                 "",
		`{"state":"catching-up","starting":true,"waiting":{"seq":7,"since":"2026-01-01T00:00:00Z","ageSeconds":60}}`:                                     ": finding its place; 7 waits for 1m0s",
		`{"state":"ok","attempt":1,"claim":{"state":"STARTED","token":"4-x","from":7,"to":"9007199254740993","leaseUntil":"2026-01-01T00:00:00Z"}}`:      ": at 7 to 9007199254740993, claim 4-x, lease ended at 2026-01-01T00:00:00Z; attempt 1",
		`{"state":"ok","claim":{"state":"SENDING","token":"4-x","from":7,"to":9,"leaseUntil":"2026-01-01T00:00:00Z","deferred":true,"chain":"d/y/4-x"}}`: ": at 7 to 9, deferred, claim 4-x ended at 2026-01-01T00:00:00Z, chain d/y/4-x",
		`{"state":"blocked","attempt":5,"blocked":{"seq":7,"since":"2026-01-01T00:00:00Z","ageSeconds":90.4},"error":"no account"}`:                      ": blocked on 7 for 1m30s; attempt 5; failed: no account",
		`{"state":"retrying","attempt":2,"error":"no answer","nextTry":"2026-01-01T00:00:10Z"}`:                                                          ": attempt 2; failed: no answer; next try at 2026-01-01T00:00:10Z",
		`{"state":"paused","paused":{"reason":"it moves","since":"2026-01-01T00:00:00Z"},"waiting":{"seq":"9007199254740993","missing":true}}`:           ": paused since 2026-01-01T00:00:00Z: it moves; 9007199254740993 is missing: it is not stored any more",
		`{"state":"in-doubt","attempt":1,"claim":{"state":"IN_DOUBT","token":"4-x","from":7,"to":9,"leaseUntil":"2026-01-01T00:00:00Z"}}`:                ": in doubt: claim 4-x of 7 to 9, whose lease ended at 2026-01-01T00:00:00Z; attempt 1",
		`{"state":"in-doubt","quarantine":[{"token":"4-x","from":7,"to":9,"state":"ABORTED","since":"2026-01-01T00:00:00Z"}]}`:                           ": quarantine: claim 4-x of 7 to 9, ABORTED since 2026-01-01T00:00:00Z",
		`{"state":"ok","refused":{"count":1,"claim":"1-r1","reason":"to queue \"n\": seq 1: conflict","since":"2026-01-01T00:00:00Z"}}`:                  `: 1 reply refused, the last in claim 1-r1: to queue "n": seq 1: conflict`,
		`{"state":"held","nextTry":"2026-01-01T00:00:10Z","sink":{"openSince":"2026-01-01T00:00:00Z","probes":2,"failingSince":"2026-01-01T00:00:00Z"}}`: ": next try at 2026-01-01T00:00:10Z; circuit breaker open since 2026-01-01T00:00:00Z; 2 probes made; the sink has failed since 2026-01-01T00:00:00Z",
		`{"state":"held","sink":{"waking":true,"takenAt":"2026-01-01T00:00:00Z"}}`:                                                                       ": the circuit breaker has closed: queues that it held are being woken up; the sink last took something at 2026-01-01T00:00:00Z, after a failure",
	} {
		var c consumer
		check.OK(t, json.Unmarshal([]byte(document), &c))
		check.Is(t, c.clauses(clock{}), want, document)
	}
}

// TestTimesThatPassed are not ahead, and stand behind the word that is true of them.
func TestTimesThatPassed(t *testing.T) {
	now := time.Now()
	ahead, passed := now.Add(90*time.Second+500*time.Millisecond), now.Add(-27*time.Second)
	then := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	table := clock{style: "auto", table: true}
	for name, c := range map[string]struct{ got, want string }{
		"due ahead":   {table.due(ahead), "in 1m30s"},
		"due passed":  {table.due(passed), "now"},
		"due in text": {clock{style: "auto"}.due(then), "at 2026-01-01T00:00:10Z"},
		"end ahead":   {table.end(ahead), "ends in 1m30s"},
		"end passed":  {table.end(passed), "ended 27s ago"},
		"end in text": {clock{style: "iso"}.end(then), "ended at 2026-01-01T00:00:10Z"},
		"since":       {table.since(passed), "for 27s"},
		"since, text": {clock{style: "auto"}.since(then), "since 2026-01-01T00:00:10Z"},
		"when":        {table.when(passed), "27s ago"},
		"when, never": {table.when(time.Time{}), ""},
	} {
		check.Is(t, c.got, c.want, name)
	}
}

// failing is an API whose consumer billing of queue orders fails, and whose audit has all.
var failing = map[string]string{
	"/queues": `{"queue":"orders","kind":"numbered","state":"ok","position":48,"list":[]}`,
	"/consumers": `{"consumers":[{"queue":"orders","consumer":"audit","state":"ok","delivered":48,"position":48,"lag":0},
		{"queue":"orders","consumer":"billing","state":"retrying","cause":"failed","since":"2026-01-01T00:00:00Z","seq":42,"lag":7,"delivered":41,"position":48,
		"attempt":3,"nextTry":"2026-01-01T00:01:00Z","error":"HTTP 500\u001b[2J","group":"HTTP 500",
		"attempts":[{"attempt":2,"at":"2026-01-01T00:00:10Z","ms":120,"from":42,"to":42,"claim":"7-a","by":"orders-fn","requestId":"r-1","answer":"no account"},
		{"attempt":3,"at":"2026-01-01T00:00:20Z","from":41,"to":42,"claim":"8-a","died":true}]}],
		"list":[{"queue":"orders","consumer":"billing","state":"paused","also":["blocked"],"seq":42,"lag":7,"since":"2026-01-01T00:00:00Z","ageSeconds":9,
		"attempt":5,"error":"HTTP 500","delivered":41,"position":48}]}`,
	"/messages":   `{"messages":[{"seq":42,"id":"a","body":1,"enqueuedAt":"2026-01-01T00:00:00Z"}]}`,
	"/operations": `{"operations":[]}`,
}

// TestWhy: the state, the cause, the attempts, the next try, what to type, and the runbook's
// section; of a queue that is well, that it is.
func TestWhy(t *testing.T) {
	url := answers(t, failing)
	out, errOut, code := prints(t, "--url", url, "why", "orders")
	for _, want := range []string{
		"orders billing: retrying (failed) since 2026-01-01T00:00:00Z\n", "\n  error: HTTP 500\\x1b[2J\n",
		"\n  attempt 2 ended at 2026-01-01T00:00:10Z, after 120 ms, by orders-fn, request r-1: no account\n",
		"\n  attempt 3 ended at 2026-01-01T00:00:20Z: nothing was answered, its worker died or ran out of time\n",
		"\n  next try at 2026-01-01T00:01:00Z\n", "\n    streamsort inspect orders@42\n", "\n  runbook: docs/reference/runbook.md#retrying\n",
	} {
		check.That(t, code == exitDone && strings.Contains(out, want),
			"no %q in exit %d\n%s%s", want, code, out, errOut)
	}
	check.That(t, !strings.Contains(out, "audit"), "one that is ok is in\n%s", out)
	for line, want := range map[string]string{
		"consumer --state blocked": "orders\tbilling\tpaused, blocked\t42\t7\t" +
			"since 2026-01-01T00:00:00Z\tHTTP 500 (attempt 5)\n",
		"inspect orders@42": "has not had it: it is at 41: attempt 3; failed: HTTP 500\\x1b[2J; " +
			"next try at 2026-01-01T00:01:00Z\n    attempt 2 ended at 2026-01-01T00:00:10Z, ",
	} {
		out, errOut, _ := prints(t, append([]string{"--url", url}, strings.Fields(line)...)...)
		check.That(t, strings.Contains(out, want), "%s: no %q in\n%s%s", line, want, out, errOut)
	}
	out, _, _ = prints(t, "--url", url, "-o", "jsonl", "why", "orders")
	const begins = `{"queue":"orders","consumer":"billing","state":"retrying","cause":"failed",`
	check.That(t, strings.HasPrefix(out, begins), "as JSON: %s", out)
	const settling = `{"queue":"octo","kind":"keyed","state":"ok","position":2,"waiting":2,"dueAt":"2026-01-01T00:00:05Z"}`
	orders := failing["/queues"]
	for _, c := range []struct{ queue, consumers, want string }{
		{settling, `[{"consumer":"a","state":"ok"}]`, "octo: ok: all messages up to 2 are delivered to 1 consumer; 2 wait, the first is due at 2026-01-01T00:00:05Z\n"},
		{orders, `[{"consumer":"a","state":"ok"}]`, "orders: ok: all messages up to 48 are delivered to 1 consumer\n"},
		{orders, `[{"consumer":"a","state":"ok","lag":3},{"consumer":"b","state":"ok","lag":0},{"consumer":"c","state":"ok","lag":48}]`, "orders: ok: in order up to 48; 3 messages are on the way to a, 48 messages are on the way to c; `streamsort consumer` shows them\n"},
		{orders, `[]`, "orders: ok: it has all messages up to 48, and no consumer; `streamsort consumer create` makes one\n"},
	} {
		out, errOut, _ := prints(t, "--url", answers(t, map[string]string{"/queues": c.queue,
			"/consumers": `{"consumers":` + c.consumers + `}`}), "why", "q")
		check.Is(t, out, c.want, errOut)
	}
}

// TestLogOfAnAttempt: the function that was called last has a log, here or in CloudWatch.
func TestLogOfAnAttempt(t *testing.T) {
	called := view.Attempt{By: "arn:aws:lambda:eu-west-1:123456789012:function:orders",
		RequestID: "r-1"}
	for at, want := range map[string]string{
		"http://127.0.0.1:3000":   "streamsort logs orders",
		"https://api.example.com": `aws logs filter-log-events --log-group-name /aws/lambda/orders --filter-pattern '"r-1"'`,
	} {
		s := &session{place: place{URL: at}}
		check.Is(t, s.log([]view.Attempt{{}, called}), want, at)
		check.Is(t, s.log([]view.Attempt{called, {Died: true}}), "", "of a call that is not known")
	}
}

// TestCheat: ten lines, whose verbs and flags are understood.
func TestCheat(t *testing.T) {
	out, _, _ := prints(t, "cheat")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	check.That(t, len(lines) == 10, "%d lines", len(lines))
	for _, line := range lines {
		typed, _, found := strings.Cut(strings.TrimPrefix(line, "streamsort "), "  ")
		_, err := parsing(t).Parse(strings.Fields(typed))
		check.That(t, err == nil && found && len(line) <= 100, "%s: %v", line, err)
	}
}

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
	check.That(t, code == 0 && strings.Contains(out, "╰─ "+first+"  ") &&
		!strings.Contains(strings.Join(asked, " "), "@acme"),
		"exit code %d, asked for %q, %s%s", code, asked, out, errOut)
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
		got := c.of.about(clock{})
		check.Has(t, got, c.want)
		check.That(t, !strings.Contains(got, "\x1b"), "%q", got)
	}
}
