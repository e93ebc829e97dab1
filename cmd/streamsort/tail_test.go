package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFollowWaitsForAQueue that nothing was put to yet; without -f that is an error.
func TestFollowWaitsForAQueue(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
	}))
	t.Cleanup(server.Close)
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"--url", server.URL, "tail", "q"}, nil, &out, &errOut)
	if code != 1 || !strings.Contains(errOut.String(), "nothing was ever put") {
		t.Errorf("without -f: exit code %d, %s", code, errOut.String())
	}
	errOut.Reset()
	code = run(ctx, []string{"--url", server.URL, "tail", "-f", "q"}, nil, &out, &errOut)
	if code != 0 || out.String() != "1\ta\t7\n" || errOut.Len() > 0 {
		t.Errorf("exit code %d, %q, %s", code, out.String(), errOut.String())
	}
}
