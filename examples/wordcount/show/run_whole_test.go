//go:build whole

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTreesAreDone(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), library, failing, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, part := range []string{
		"databases/library/1: DONE, 14 edges of 14 have ended", "databases/library/2: DONE, 9 edges of 9 have ended",
		"wolf          FAILS, attempt 2", "wolf (failed 2 times before)", "14 started, 14 ended   n = 0", "the 3, waits 1, wide 1, wolf 1",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
}
