//go:build whole

package lambda

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

// TestAsync: a request that fails is tried three times, without the waits of AWS where the
// configuration says so, and is then in the queue for failures.
func TestAsync(t *testing.T) {
	failed := make(chan []byte, 1)
	async := template.Async{Retries: 2, OnFailure: "failures", MaxAge: time.Hour}
	s := serve(t, Config{AsyncRetry: time.Millisecond, OnFailure: func(to string, message []byte) {
		check.Is(t, to, "failures")
		failed <- message
	}}, template.Function{Reserved: -1, Async: async})
	path := filepath.Join(t.TempDir(), "effects")
	effect := fmt.Appendf(nil, `{"do":"append","n":1,"path":%q}`, path)
	check.OK(t, s.InvokeAsync(Request{Function: "probe", Payload: effect}))
	await.True(t, "the effect", func() bool { _, err := os.Stat(path); return err == nil })
	check.OK(t, s.InvokeAsync(Request{Function: "probe", Payload: []byte(`{"do":"error"}`)}))
	var got struct {
		RequestContext struct {
			Condition              string
			ApproximateInvokeCount int
		}
		RequestPayload  struct{ Do string }
		ResponsePayload struct{ ErrorMessage string }
	}
	check.OK(t, json.Unmarshal(<-failed, &got))
	check.Is(t, fmt.Sprint(got), "{{RetriesExhausted 3} {error} {no luck}}")
}

// TestTryAsync pins when an asynchronous request is tried again.
func TestTryAsync(t *testing.T) {
	failure := func() (Response, error) { return Response{FunctionError: "Unhandled"}, nil }
	throttle := func() (Response, error) { return Response{}, ErrThrottled }
	success := func() (Response, error) { return Response{}, nil }
	cases := []struct {
		name      string
		retries   int
		maxAge    time.Duration
		steps     []func() (Response, error) // the last one repeats
		attempts  int
		condition string
		took      time.Duration
	}{
		{"success", 2, time.Hour, []func() (Response, error){success}, 1, "", 0},
		{"retries used up", 2, time.Hour, []func() (Response, error){failure}, 3, "RetriesExhausted", 3 * time.Minute},
		{"no retries", 0, time.Hour, []func() (Response, error){failure}, 1, "RetriesExhausted", 0},
		{"second try", 2, time.Hour, []func() (Response, error){failure, success}, 2, "", time.Minute},
		{"throttled", 0, time.Hour, []func() (Response, error){throttle, throttle, throttle, success}, 1, "", 7 * time.Second},
		{"too old", 2, 150 * time.Second, []func() (Response, error){failure}, 2, "EventAgeExceeded", time.Minute},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, calls := time.Now(), 0
				_, attempts, condition := tryAsync(t.Context(), time.Minute, c.retries, c.maxAge,
					func() (Response, error) {
						step := c.steps[min(calls, len(c.steps)-1)]
						calls++
						return step()
					})
				if attempts != c.attempts || condition != c.condition || time.Since(begun) != c.took {
					t.Errorf("%d attempts, %q, after %v; want %d, %q, %v", attempts, condition, time.Since(begun),
						c.attempts, c.condition, c.took)
				}
			})
		})
	}
}
