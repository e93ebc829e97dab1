//go:build whole

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestMain is a copy of a consumer where a scenario starts this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && children[os.Args[1]] != nil {
		fmt.Fprintln(os.Stderr, children[os.Args[1]](context.Background(), os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestShort runs the short form of what make check does not run by itself.
func TestShort(t *testing.T) {
	for name, says := range map[string][]string{
		"ledger":   {"out, books          200 messages, 0 again, 0 stale, 0 violations, 0 lost", "sum of all accounts 0"},
		"pingpong": {"100 pings, 100 pongs, 100 written down"},
		"payments": {"out, bank           50 messages"},
		"wordcount": {
			"databases/library/1  DONE", "databases/library/2  DONE", "wolf          FAILS, attempt 2",
			"14 started, 14 ended   n = 0", "14 edges; counts map[is:2 sea:1 ship:1 small:1 the:3 waits:1 wide:1 wolf:1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			short := func(variable string) string { return map[string]string{"SHORT": "1"}[variable] }
			err := run(t.Context(), []string{name}, short, &out)
			check.Need(t, err == nil, "%v\n%s", err, &out)
			for _, part := range says {
				check.That(t, strings.Contains(out.String(), part), "no %q in\n%s", part, &out)
			}
		})
	}
}
