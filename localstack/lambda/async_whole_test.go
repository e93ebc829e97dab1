//go:build whole

package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestChaos repeats each failed request until it succeeds. Requests are hit both before and after
// their effect, and as often as the rate says.
func TestChaos(t *testing.T) {
	s := serve(t, Config{Chaos: KillRandomly(0.5, 7)}, template.Function{Reserved: -1})
	path := filepath.Join(t.TempDir(), "effects")
	const n = 40
	failures, withEffect := 0, 0
	effects := func() int { text, _ := os.ReadFile(path); return strings.Count(string(text), "\n") }
	for i := range n {
		for {
			before := effects()
			r := invoke(t, s, fmt.Sprintf(`{"do":"append","n":%d,"path":%q}`, i, path))
			if r.FunctionError == "" {
				break
			}
			check.Need(t, strings.Contains(string(r.Payload), "signal: killed"), "failure = %s", r.Payload)
			failures++
			withEffect += effects() - before
		}
	}
	check.That(t, failures >= n/3 && failures <= 3*n, "%d failures of %d requests", failures, n)
	check.That(t, withEffect != 0 && withEffect != failures, "%d %d", withEffect, failures)
	stats, _ := s.Stats("probe")
	check.That(t, stats.Killed == failures && stats.Errors == failures, "stats = %+v", stats)
}

// TestChaosAlways kills each request, wherever it was aimed: no answer gets through.
func TestChaosAlways(t *testing.T) {
	s := serve(t, Config{Chaos: KillRandomly(1, 7)}, template.Function{Reserved: -1})
	for range 12 {
		r := invoke(t, s, `{}`)
		check.That(t, r.FunctionError != "", "an answer got through: %s", r.Payload)
	}
}

func TestContext(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1, Timeout: 70 * time.Second})
	r := check.Get(s.Invoke(context.Background(), Request{
		Function: "probe", Qualifier: "live", Payload: []byte(`{"do":"context"}`),
		ClientContext: `{"custom":{"who":"me"}}`,
	}))
	got := decode[struct {
		ID, Arn, Trace string
		Left           int
		Client         map[string]string
	}](t, r)
	check.That(t, got.ID == r.RequestID &&
		got.Arn == "arn:aws:lambda:us-east-1:000000000000:function:probe:live" &&
		got.Client["who"] == "me", "context = %+v; want request id %s", got, r.RequestID)
	check.That(t, got.Left > 0 && got.Left <= 70_000 && strings.HasPrefix(got.Trace, "Root=1-"),
		"context = %+v; want a deadline within 70 s and a trace id", got)
}

func TestVariables(t *testing.T) {
	t.Setenv("OF_THE_HOST", "secret")
	s := serve(t, Config{}, template.Function{
		Reserved: -1, Handler: "main", MemoryMB: 512, LogFormat: "JSON", LogLevel: "WARN",
		Env: map[string]string{"OWN": "yes", "AWS_REGION": "eu-west-1"},
	})
	got := map[string]string{}
	for _, entry := range decode[[]string](t, invoke(t, s, `{"do":"env"}`)) {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	for _, varying := range []string{"PATH", "AWS_LAMBDA_RUNTIME_API", "AWS_LAMBDA_LOG_STREAM_NAME",
		"_X_AMZN_TRACE_ID"} {
		check.That(t, got[varying] != "", "%s is not set", varying)
		delete(got, varying)
	}
	want := map[string]string{
		"OWN": "yes", "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1", "_HANDLER": "main",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "local",
		"AWS_LAMBDA_FUNCTION_NAME": "probe", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/probe",
		"AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "WARN", "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
		"LAMBDA_TASK_ROOT": filepath.Dir(probe), "LAMBDA_RUNTIME_DIR": "/var/runtime", "LANG": "en_US.UTF-8", "TZ": ":UTC",
	}
	check.Is(t, cmp.Diff(want, got), "")
}
