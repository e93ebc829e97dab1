package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/client"
)

// TestAdvice about answers of what stands before the functions.
func TestAdvice(t *testing.T) {
	for status, want := range map[int]string{
		301: "--url", 401: "--token", 403: "--sign", 404: "--url", 429: "--concurrency", 500: "log", 503: "log", 400: "",
	} {
		got := advice(&client.Problem{Status: status}, "http://127.0.0.1:3000")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
	for _, err := range []error{errors.New("else"), &client.Problem{Status: 404, Code: "no-queue"}} {
		if got := advice(err, "http://127.0.0.1:3000"); got != "" {
			t.Errorf("%v: %q", err, got)
		}
	}
}
