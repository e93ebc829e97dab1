//go:build whole

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEveryOrderIsChargedOnce(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), 10, 5, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if text := out.String(); !strings.Contains(text, "charged           50") || !strings.Contains(text, "once, in order") {
		t.Errorf("it says\n%s", text)
	}
}
