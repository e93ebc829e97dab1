package main

import (
	"bytes"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/client"
)

// TestPortInUse says what to do.
func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	template := filepath.Join("..", "..", "localstack", "streamsort.template.json")
	code := run(t.Context(), []string{"local", "--template", template, "--port", port}, nil, &out, &errOut)
	if said := errOut.String(); code != 1 || !strings.Contains(said, port) || !strings.Contains(said, "\nstreamsort: is another stack running? End it, or take another port by --port\n") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

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
