package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// TestInspectSkipped: who skipped a message has not had it.
func TestInspectSkipped(t *testing.T) {
	api := answers(t, map[string]string{
		"/queues":                `{"queue":"q","position":9}`,
		"/messages":              `{"messages":[{"seq":7,"body":1}]}`,
		"/_streamsort/functions": `[]`,
		"/operations": `{"operations":[{"consumer":"a","action":"skip","seq":7,"outcome":"done"},` +
			`{"consumer":"b","action":"skip","seq":7,"outcome":"refused"},{"consumer":"c","action":"skip","seq":6,"outcome":"done"}]}`,
		"/consumers": `{"consumers":[{"consumer":"a","delivered":7},{"consumer":"b","delivered":8},{"consumer":"c","delivered":6}]}`,
	})
	out, errOut, code := prints(t, "--url", api, "inspect", "q@7")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	for _, want := range []string{"a is past it, which an operator skipped", "b is past it", "c has not had it: it is at 6"} {
		if !strings.Contains(out, "  "+want+"\n") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestNeverComes: a place that was given up, and one whose message is deleted, are said so.
func TestNeverComes(t *testing.T) {
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer, found := map[string]string{
			"/queues":                `{"queue":"q","position":9}`,
			"/messages?after=6":      `{"messages":[{"seq":7,"tombstone":"the gap was open for 2m0s","enqueuedAt":"2026-01-02T03:04:05Z"}]}`,
			"/messages?after=7":      `{"messages":[]}`,
			"/operations":            `{"operations":[]}`,
			"/consumers":             `{"consumers":[{"consumer":"a","delivered":9}]}`,
			"/_streamsort/functions": `[]`,
		}[r.URL.Path+strings.TrimSuffix("?after="+r.URL.Query().Get("after"), "?after=")]
		if !found {
			t.Errorf("asked for %s", r.URL)
		}
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
		if code != exitDone || out != c.want {
			t.Errorf("%s: exit %d\n%s%s", c.message, code, out, errOut)
		}
	}
}

// TestInspectAnswer: what the sink answered is shown of the message that it was about, and of no other.
func TestInspectAnswer(t *testing.T) {
	const answer = `"answer":{"code":202,"ms":34,"at":"2026-01-02T03:04:05Z","text":"queued\u001b[31m"}`
	api := answers(t, map[string]string{
		"/queues":                `{"queue":"q","position":9}`,
		"/messages":              `{"messages":[{"seq":7,"body":1}]}`,
		"/operations":            `{"operations":[]}`,
		"/_streamsort/functions": `[]`,
		"/consumers":             `{"consumers":[{"consumer":"a","delivered":7,` + answer + `},{"consumer":"b","delivered":8,` + answer + `}]}`,
	})
	out, errOut, code := prints(t, "--url", api, "inspect", "q@7")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	if text := out; strings.Count(text, "its sink answered 202 queued") != 1 || !strings.Contains(text, " in 34 ms, ") || strings.Contains(text, "\x1b") {
		t.Errorf("shown:\n%s", text)
	}
}

// TestInspectHasTimes: those that the functions' logs have of the message, in their order; nothing is said of what is not known.
func TestInspectHasTimes(t *testing.T) {
	lines := []string{
		`{"message":"delivery","queue":"orders","consumer":"audit","from":41,"to":43,"attempt":1,"claimedAt":"2026-05-06T07:08:11Z","returnedAt":"2026-05-06T07:08:12Z","failed":true}`,
		`{"message":"delivery","queue":"orders","consumer":"audit","from":42,"to":42,"attempt":2,"claimedAt":"2026-05-06T07:08:13Z","returnedAt":"2026-05-06T07:08:14Z","committedAt":"2026-05-06T07:08:15Z"}`,
		`{"message":"delivery","queue":"orders","consumer":"audit","from":43,"to":43,"attempt":1,"claimedAt":"2026-05-06T07:09:10Z"}`,
		`{"message":"delivery","queue":"other","consumer":"audit","from":1,"to":99,"claimedAt":"2026-05-06T07:09:10Z"}`,
		`{"message":"delivery","queue":"orders","consumer":"audit"}`, `{"message":"put","queue":"orders","seq":43,"outcome":"advanced"}`,
		`{"message":"put","queue":"orders","seq":42,"outcome":"advanced","timestamp":"2026-05-06T07:08:10Z"}`,
	}
	raw, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	documents := maps.Clone(failing)
	documents["/_streamsort/functions"], documents["/_streamsort/logs"] = `[{"Name":"process"}]`, string(raw)
	url := answers(t, documents)
	out, errOut, _ := prints(t, "--url", url, "inspect", "orders@42")
	want := "  in order by its own put, answered 2026-05-06T07:08:10Z\n  audit is past it\n" +
		"    claimed 2026-05-06T07:08:11Z, failed 2026-05-06T07:08:12Z\n" +
		"    claimed 2026-05-06T07:08:13Z, sent 2026-05-06T07:08:14Z, committed 2026-05-06T07:08:15Z (attempt 2)\n  billing has not"
	if !strings.Contains(out, want) || strings.Contains(out, "not logged") {
		t.Errorf("no %q in\n%s%s", want, out, errOut)
	}
	if out, _, _ := prints(t, "--url", url, "-o", "json", "inspect", "orders@42"); !strings.Contains(out, `"times":{"advanced":"2026-05-06T07:08:10Z","deliveries":[{"consumer":"audit","attempt":1,`) {
		t.Errorf("as JSON: %s", out)
	}
}
