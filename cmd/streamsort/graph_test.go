package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestGraphUntilAnInterrupt draws what there is then, and is no failure. Seqs beyond 2^53 stay what they are.
func TestGraphUntilAnInterrupt(t *testing.T) {
	for format, wants := range map[string][]string{
		"text":  {"position 9007199254740995, ", "lag 5\n", " messages a second"},
		"jsonl": {`"position":"9007199254740993",`, `"position":"9007199254740995",`, `"lag":5}`},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		looks := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/consumers" {
				_, _ = io.WriteString(w, `{"consumers":[{"consumer":"a","lag":2},{"consumer":"b","lag":5},{"consumer":"c","lag":"3"}]}`)
				return
			}
			if looks++; looks == 4 {
				interrupt()
			}
			_, _ = fmt.Fprintf(w, `{"queue":"q","position":"%d"}`, 9007199254740992+min(looks, 3))
		}))
		var out, errOut bytes.Buffer
		code := run(ctx, []string{"--url", server.URL, "-o", format, "top", "q", "--every", "100ms", "--for", "0"}, nil, &out, &errOut)
		for _, want := range wants {
			if code != 0 || !strings.Contains(out.String(), want) {
				t.Errorf("exit code %d, %s%s, want %q in it", code, &out, &errOut, want)
			}
		}
		server.Close()
		interrupt()
	}
}

// TestGraphKeepsTheLatest samples, as many as there are columns.
func TestGraphKeepsTheLatest(t *testing.T) {
	if got := latest([]float64{1, 2, 3}, 2); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("%v", got)
	}
	if got := latest([]float64{1}, 2); !slices.Equal(got, []float64{1}) {
		t.Errorf("%v", got)
	}
}
