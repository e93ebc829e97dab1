// Package runtimetest holds what every function's start has to do, for tests.
package runtimetest

import (
	"io"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/runtime"
)

// Starts holds that a function starts where these tables' variables are set, as MESSAGES of
// STREAMSORT_MESSAGES_TABLE, and no others; and that the error of one that is not set names it.
// There is nothing at any endpoint: a function that made a request would not start.
func Starts(t *testing.T, newHandler func(*runtime.Deps) (runtime.Handler, error),
	tables ...string) {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	for _, table := range tables {
		t.Setenv("STREAMSORT_"+table+"_TABLE", "some")
	}
	if handler, err := runtime.New(io.Discard, newHandler); err != nil || handler == nil {
		t.Errorf("it does not start: %v", err)
	}
	for _, table := range tables {
		variable := "STREAMSORT_" + table + "_TABLE"
		t.Setenv(variable, "")
		if _, err := runtime.New(io.Discard, newHandler); err == nil ||
			!strings.Contains(err.Error(), variable+" is not set") {
			t.Errorf("without %s: error %v", variable, err)
		}
		t.Setenv(variable, "some")
	}
}
