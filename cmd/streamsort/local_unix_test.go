//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/localstack"
)

// TestShowFailed: of a function whose runtime prints what it raises, what the runtime does not print is
// shown, such as a handler that an edit has renamed; what it raises is in its log.
func TestShowFailed(t *testing.T) {
	folder := t.TempDir()
	if code, _, errOut := line(t, "init", "python", folder); code != exitDone {
		t.Fatal(errOut)
	}
	consumer, err := localstack.ParseConsumer("py=" + filepath.Join(folder, "consumer.py"))
	if err != nil {
		t.Fatal(err)
	}
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
		if config.Failed(c.function, c.text); said.String() != c.want {
			t.Errorf("%s: %s shows %q, want %q", c.function, c.text, said.String(), c.want)
		}
	}
}
