//go:build unix && whole

package main

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack"
)

// TestTwoLocalStacks: the context local is the stack that was started first, as long as it runs;
// another has one of its own, and neither takes the other's away.
func TestTwoLocalStacks(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	stack := func() *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/_streamsort/health" {
				w.WriteHeader(http.StatusNotFound)
			}
		}))
	}
	first, second := stack(), stack()
	defer second.Close()
	own := "local-" + second.URL[strings.LastIndexByte(second.URL, ':')+1:]
	begin := func(s *httptest.Server, want string) (forget func()) {
		t.Helper()
		name, forget, err := register(place{URL: s.URL})
		check.That(t, err == nil && name == want, "the context is %q, want %q, %v", name, want, err)
		return forget
	}
	are := func(want ...string) {
		t.Helper()
		all, err := readPlaces()
		got := slices.Sorted(maps.Keys(all.Contexts))
		check.That(t, err == nil && slices.Equal(got, want), "contexts %q, want %q, %v", got, want, err)
	}
	endFirst := begin(first, "local")
	endSecond := begin(second, own)
	are("local", own)
	endSecond()
	are("local")
	endSecond = begin(second, own)
	endFirst()
	are(own)
	endSecond()
	are()
	begin(first, "local") // and is killed
	begin(first, "local") // and the next one is where it was
	first.Close()
	begin(second, "local")()
	are()
}

// TestShowFailed: of a function whose runtime prints what it raises, what the runtime does not
// print is shown, such as a handler that an edit has renamed; what it raises is in its log.
func TestShowFailed(t *testing.T) {
	folder := t.TempDir()
	_, errOut, code := prints(t, "init", "python", folder)
	check.Need(t, code == exitDone, "%v", errOut)
	consumer := check.Get(localstack.ParseConsumer("py=" + filepath.Join(folder, "consumer.py")))
	var said bytes.Buffer
	config := localstack.Config{Consumers: []localstack.Consumer{consumer}}
	show(&session{errOut: &said}, &config)
	for _, c := range []struct{ function, text, want string }{
		{"py", "Runtime.HandlerNotFound: there is no consumer.py", "py failed: Runtime.HandlerNotFound: there is no consumer.py\n"},
		{"py", "Runtime.ExitError: Error: Runtime exited", "py failed: Runtime.ExitError: Error: Runtime exited\n"},
		{"py", "Sandbox.Timedout: Error: Task timed out", "py failed: Sandbox.Timedout: Error: Task timed out\n"},
		{"py", "RuntimeError: no", ""},
		{"build", "main.go:3: undefined: x", "build failed: main.go:3: undefined: x\n"},
	} {
		said.Reset()
		config.Failed(c.function, c.text)
		check.Is(t, said.String(), c.want, c.function, c.text)
	}
}
