package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/check"
)

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
	if n := strings.Count(out, "\n"); code != exitDone || n < 2 || calls != 3 {
		t.Errorf("exit code %d, %d calls, %q, %s", code, calls, out, errOut)
	}
	calls, broken = 0, true
	out, errOut, code = prints(t, line...)
	if n := strings.Count(out, "\n"); code != exitRefused || n != 2 {
		t.Errorf("broken: exit code %d, %d calls, %q, %s", code, calls, out, errOut)
	}
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
		got := advice(err, "http://127.0.0.1:3000")
		check.That(t, got == "", "%v: %q", err, got)
	}
}
