//go:build whole

package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/localstack"
)

// delivering is a stack that has process and a function behind it, with variables of functions.
func delivering(t *testing.T, env map[string]string) *localstack.Stack {
	t.Helper()
	root, err := localdb.Root()
	if err != nil {
		t.Fatal(err)
	}
	env["SweepFunction.STREAMSORT_EVENT_BUS"] = ""
	stack, err := localstack.Run(t.Context(), localstack.Config{
		Templates: []string{
			filepath.Join(root, "examples", "demo", "streamsort.patch.json"),
			filepath.Join(root, "examples", "receiver", "receiver.template.json"),
		},
		Env:    env,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Close)
	return stack
}

// TestTraces follows messages from put to sink, on a stack that has process and a function behind it.
func TestTraces(t *testing.T) {
	stack := delivering(t, map[string]string{
		"EnqueueFunction.STREAMSORT_LOG_QUEUE": "watched", "EnqueueFunction.STREAMSORT_LOG_UNTIL": "2100-01-01T00:00:00Z",
		"ProcessFunction.STREAMSORT_LOG_QUEUE": "watched", "ProcessFunction.STREAMSORT_LOG_UNTIL": "2100-01-01T00:00:00Z",
	})
	handed := make(chan string, 100)
	t.Cleanup(stack.Subscribe(func(l localstack.Line) {
		var said struct{ Message, Queue string }
		if json.Unmarshal([]byte(l.Text), &said) == nil && said.Message == "delivery" {
			handed <- said.Queue
		}
	}))
	api, err := client.New(stack.URL())
	if err != nil {
		t.Fatal(err)
	}
	waiting := map[string]bool{"sampled": true, "watched": true}
	for _, message := range []string{
		`{"queue":"unsampled","seq":1,"body":{},"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"}`,
		`{"queue":"sampled","seq":1,"id":"o-1","body":{},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1"}`,
		`{"queue":"sampled","seq":3,"body":{}}`, `{"queue":"watched","seq":1,"body":{}}`,
	} {
		if err := api.Call(t.Context(), http.MethodPost, "/messages", nil, []byte(message), &struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	for len(waiting) > 0 {
		select {
		case said := <-handed:
			delete(waiting, said)
		case <-t.Context().Done():
			t.Fatalf("not delivered: %v", waiting)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "traced"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("STREAMSORT_URL", stack.URL())
			return nil
		},
	})
}
