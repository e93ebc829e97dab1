//go:build whole

package localstack

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/localstack/lambda"
)

// TestFailedFunctionsSayWhy: an error's text, a panic's and where it was, and the end of the log of
// a process that could say nothing.
func TestFailedFunctionsSayWhy(t *testing.T) {
	texts := make(chan string, 9)
	s := run(t, Config{Templates: shop[1:], Failed: func(function, text string) { texts <- function + " " + text }})
	for path, want := range map[string][]string{
		"/fail":  {"shop-Echo errorString: asked to"},
		"/panic": {"shop-Echo string: asked to", "\n  at ", "main.go:4", " handle"},
		"/crash": {"shop-Echo Runtime.ExitError: ", "exit status 2", "\n  panic: in the background", "main.go:"},
	} {
		if _, err := s.Invoke(t.Context(), "Echo", []byte(`{"rawPath":"`+path+`"}`)); err != nil {
			t.Fatal(err)
		}
		text := <-texts
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in %s", path, part, text)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	for payload, want := range map[string]string{
		`{"errorType":"ValueError","errorMessage":"no","stackTrace":["  File \"a.py\", line 1\n","  b"]}`: "ValueError: no\n  at File \"a.py\", line 1\n  at b",
		`"what"`: `"what"`,
		`{"errorType":"Runtime.ExitError","errorMessage":"gone"}`: "Runtime.ExitError: gone\n  one\n  two",
	} {
		if text := errorText(lambda.Response{Payload: []byte(payload), LogTail: []byte("one\ntwo\n")}); text != want {
			t.Errorf("%s: %s", payload, text)
		}
	}
}
