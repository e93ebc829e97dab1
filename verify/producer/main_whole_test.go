//go:build whole

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(variableURL); url != "" {
		if err := own(context.Background(), url, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestOwn: the producer of this repository, as a process of its own.
func TestOwn(t *testing.T) {
	for name, want := range map[string]string{"conflict": "ok    conflict", "full": "ok    full for longer than a request", "no id": "ok    no id"} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-case", name}, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %s", err, &out)
		}
	}
}

// TestOthers: a command that is no producer fails, and so does a case that there is not.
func TestOthers(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-case", "together", "--", "cat"}, &out); !errors.Is(err, errFailed) || !strings.Contains(out.String(), "it must be") {
		t.Errorf("%v: %s", err, &out)
	}
	if err := run(t.Context(), []string{"-case", "nothing such"}, &out); err == nil || !strings.Contains(err.Error(), "-list") {
		t.Error(err)
	}
	out.Reset()
	if err := run(t.Context(), []string{"-list"}, &out); err != nil || strings.Count(out.String(), "\n") < 20 {
		t.Errorf("%v: %s", err, &out)
	}
}
