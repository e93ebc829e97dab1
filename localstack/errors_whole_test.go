//go:build whole

package localstack

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestFailedFunctionsSayWhy: an error's text, a panic's and where it was, and the end of the log of
// a process that could say nothing.
func TestFailedFunctionsSayWhy(t *testing.T) {
	texts := make(chan string, 9)
	s := run(t, Config{Templates: shop[1:], Failed: func(function, text string) {
		texts <- function + " " + text
	}})
	for path, want := range map[string][]string{
		"/error": {"shop-Echo errorString: no luck"},
		"/panic": {"shop-Echo string: on purpose", "\n  at ", "main.go:9", " handle"},
		"/crash": {"shop-Echo Runtime.ExitError: ", "exit status 2", "\n  panic: in the background", "main.go:"},
	} {
		check.Get(s.Invoke(t.Context(), "Echo", []byte(`{"rawPath":"`+path+`"}`)))
		text := <-texts
		for _, part := range want {
			check.That(t, strings.Contains(text, part), "%s: no %q in %s", path, part, text)
		}
	}
}
