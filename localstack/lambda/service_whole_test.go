//go:build whole

package lambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/localstack/template"
)

var probe string // path of the built probe function

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "streamsort-lambda-*")
	if err == nil {
		probe = filepath.Join(dir, "bootstrap")
		build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", probe, "./testdata/probe")
		build.Stderr = os.Stderr
		err = errors.Join(build.Run(), sources.Note(context.Background(), ".", "./testdata/probe"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the probe:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	if leak := goleak.Find(); leak != nil && code == 0 {
		fmt.Fprintln(os.Stderr, leak)
		code = 1
	}
	os.Exit(code)
}

func serve(t *testing.T, c Config, f template.Function) *Service {
	t.Helper()
	s := New(c)
	t.Cleanup(s.Close)
	f.Name, f.Timeout = "probe", cmp.Or(f.Timeout, time.Minute) // a slow machine is no failure
	s.Add(f, Program{Bootstrap: probe})
	return s
}

func invoke(t *testing.T, s *Service, payload string) Response {
	t.Helper()
	r, err := s.Invoke(context.Background(), Request{Function: "probe", Payload: []byte(payload)})
	check.OK(t, err)
	return r
}

func decode[T any](t *testing.T, r Response) T {
	t.Helper()
	var v T
	check.Need(t, r.FunctionError == "", "function error: %s", r.Payload)
	err := json.Unmarshal(r.Payload, &v)
	check.Need(t, err == nil, "%s: %v", r.Payload, err)
	return v
}

type counted struct{ Count, Pid int }

// held is a request that runs until end.
type held struct {
	t      *testing.T
	path   string
	answer Response
	done   chan error
}

func hold(ctx context.Context, t *testing.T, s *Service) *held {
	t.Helper()
	h := &held{t: t, path: filepath.Join(t.TempDir(), "running"), done: make(chan error, 1)}
	payload := fmt.Appendf(nil, `{"do":"touch and wait","path":%q}`, h.path)
	go func() {
		var err error
		h.answer, err = s.Invoke(ctx, Request{Function: "probe", Payload: payload})
		h.done <- err
	}()
	await.True(t, "the request", func() bool { _, err := os.Stat(h.path); return err == nil })
	return h
}

// end has the request end, and returns its answer.
func (h *held) end() Response {
	h.t.Helper()
	check.OK(h.t, os.Remove(h.path))
	check.OK(h.t, <-h.done)
	return h.answer
}

// TestConcurrent holds two requests open at once: each has a process of its own, and the next
// request takes the one that was used last.
func TestConcurrent(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1})
	one, two := hold(t.Context(), t, s), hold(t.Context(), t, s)
	stats, _ := s.Stats("probe")
	check.That(t, stats.Running == 2 && stats.Started == 2, "stats = %+v", stats)
	pid1, pid2 := decode[counted](t, one.end()).Pid, decode[counted](t, two.end()).Pid
	check.That(t, pid1 != pid2, "both requests ran in one process")
	check.Is(t, decode[counted](t, invoke(t, s, `{"do":"count"}`)).Pid, pid2, pid1)
}

func TestThrottledByReserve(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: 1})
	first := hold(t.Context(), t, s)
	_, err := s.Invoke(context.Background(), Request{Function: "probe"})
	check.That(t, errors.Is(err, ErrThrottled), "second request: %v; want ErrThrottled", err)
	first.end()
	got := invoke(t, s, `{}`)
	check.Is(t, got.FunctionError, "", got.Payload)
}

// TestUnreservedWaits has one environment for two requests: the second waits.
func TestUnreservedWaits(t *testing.T) {
	s := serve(t, Config{Unreserved: 1}, template.Function{Reserved: -1})
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			r, err := s.Invoke(context.Background(),
				Request{Function: "probe", Payload: []byte(`{"do":"count"}`)})
			check.That(t, err == nil && r.FunctionError == "", "Invoke = %s, %v", r.Payload, err)
		})
	}
	group.Wait()
	stats, _ := s.Stats("probe")
	check.That(t, stats.Started == 1 && stats.Requests == 5, "stats = %+v", stats)
}

func TestFunctionErrors(t *testing.T) {
	cases := []struct {
		name, payload, errorType, message string
		env                               map[string]string
		again                             bool // the environment serves on
		timeout                           time.Duration
	}{
		{name: "error", payload: `{"do":"error"}`, errorType: "errorString", message: "no luck", again: true},
		{name: "panic", payload: `{"do":"panic"}`, errorType: "string", message: "on purpose"},
		{name: "exit", payload: `{"do":"exit","n":2}`, errorType: "Runtime.ExitError", message: "RequestId: ID Error: Runtime exited with error: exit status 2"},
		{name: "exit 0", payload: `{"do":"exit"}`, errorType: "Runtime.ExitError", message: "RequestId: ID Error: Runtime exited without providing a reason"},
		{name: "time-out", payload: `{"do":"sleep","for":60000000000}`, errorType: "Sandbox.Timedout", message: "RequestId: ID Error: Task timed out after 1.00 seconds", timeout: time.Second},
		{name: "too big", payload: fmt.Sprintf(`{"do":"big","n":%d}`, MaxResponse), errorType: "Function.ResponseSizeTooLarge", message: "Response payload size exceeded maximum allowed payload size (6291556 bytes)."},
		{name: "init", payload: `{}`, errorType: "Runtime.ExitError", message: "RequestId: ID Error: Runtime exited with error: exit status 3", env: map[string]string{"PROBE_INIT": "exit"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, Config{}, template.Function{Reserved: -1, Timeout: c.timeout, Env: c.env})
			r := invoke(t, s, c.payload)
			var got struct{ ErrorType, ErrorMessage string }
			if err := json.Unmarshal(r.Payload, &got); err != nil || r.FunctionError != "Unhandled" {
				t.Fatalf("response = %s, %q, %v", r.Payload, r.FunctionError, err)
			}
			want := strings.Replace(c.message, "ID", r.RequestID, 1)
			check.That(t, got.ErrorType == c.errorType && got.ErrorMessage == want,
				"error = %q %q\nwant    %q %q", got.ErrorType, got.ErrorMessage, c.errorType, want)
			if c.env != nil {
				return
			}
			next := invoke(t, s, `{"do":"count"}`)
			for c.timeout > 0 && strings.Contains(string(next.Payload), "Task timed out") {
				next = invoke(t, s, `{"do":"count"}`)
			}
			check.Is(t, (decode[counted](t, next).Count > 1), c.again)
		})
	}
}

func TestBigPayloads(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1})
	payload := `"` + strings.Repeat("x", MaxPayload-2) + `"`
	got := invoke(t, s, payload)
	check.Is(t, string(got.Payload), payload, len(got.Payload), got.FunctionError)
	_, err := s.Invoke(context.Background(),
		Request{Function: "probe", Payload: []byte(payload + " ")})
	check.That(t, errors.Is(err, ErrTooLarge), "one byte more: %v; want ErrTooLarge", err)
	err = s.InvokeAsync(Request{Function: "probe", Payload: []byte(payload)})
	check.That(t, errors.Is(err, ErrTooLarge), "asynchronously: %v; want ErrTooLarge", err)
}

func TestRefused(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1})
	for _, c := range []struct {
		r    Request
		want error
	}{
		{Request{Function: "nobody"}, ErrUnknownFunction},
		{Request{Function: "probe", Payload: []byte("{")}, ErrNotJSON},
	} {
		_, err := s.Invoke(context.Background(), c.r)
		check.That(t, errors.Is(err, c.want), "Invoke(%+v) = %v; want %v", c.r, err, c.want)
	}
	s.Close()
	_, err := s.Invoke(context.Background(), Request{Function: "probe"})
	check.That(t, errors.Is(err, ErrClosed), "after Close: %v; want ErrClosed", err)
}

// TestLogs has every line of a request in the log before its answer is there, and the last 4 KB of
// it in the tail.
func TestLogs(t *testing.T) {
	var lines []string
	s := serve(t, Config{Log: func(_, line string) { lines = append(lines, line) }},
		template.Function{Reserved: -1})
	const n = 5000
	r := invoke(t, s, fmt.Sprintf(`{"do":"log","n":%d}`, n))
	check.Need(t, len(lines) == n+1 && lines[0] == "line 0" && lines[n] == "end",
		"%d lines, from %q to %q; want %d", len(lines), lines[0], lines[len(lines)-1], n+1)
	if len(r.LogTail) != tailLimit || !strings.HasSuffix(string(r.LogTail), "line 4999\nend\n") {
		t.Errorf("tail of %d bytes ends with %q", len(r.LogTail), r.LogTail[max(0, len(r.LogTail)-20):])
	}
	r = invoke(t, s, `{"do":"log","n":1}`)
	check.Is(t, string(r.LogTail), "line 0\nend\n", r.LogTail)
	r = invoke(t, s, `{"do":"panic"}`)
	check.That(t, strings.Contains(string(r.LogTail), "on purpose"), "tail of a panic = %q", r.LogTail)
}

// TestFrozen has a function work on behind its answer: it does not get on until the next request.
func TestFrozen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc") //nolint:forbidigo // it is not elsewhere
	}
	// Made before the service, so that it is removed when the process that writes into it is gone.
	path := filepath.Join(t.TempDir(), "ticks")
	s := serve(t, Config{}, template.Function{Reserved: -1})
	invoke(t, s, fmt.Sprintf(`{"do":"tick","path":%q}`, path))
	pid := decode[counted](t, invoke(t, s, `{"do":"count"}`)).Pid
	await.True(t, "the process to stop", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		return err == nil && len(threads) > 0 && !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	})
	before, _ := os.ReadFile(path)
	after := before
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		after, _ = os.ReadFile(path)
	}
	check.Is(t, string(before), string(after), before, after)
	check.Is(t, decode[counted](t, invoke(t, s, `{"do":"count"}`)).Pid, pid)
}

// TestIdleDies kills a frozen process: the next request has a new one.
func TestIdleDies(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1})
	pid := decode[counted](t, invoke(t, s, `{"do":"count"}`)).Pid
	check.OK(t, syscall.Kill(pid, syscall.SIGKILL))
	await.True(t, "the process to be gone", func() bool { return syscall.Kill(pid, 0) != nil })
	await.True(t, "a new environment", func() bool {
		r := invoke(t, s, `{"do":"count"}`)
		return r.FunctionError == "" && decode[counted](t, r).Pid != pid
	})
}

// TestNothingLeft has a function leave a process behind and another one busy when the service is
// closed: all are gone then.
func TestNothingLeft(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1})
	child := decode[counted](t, invoke(t, s, `{"do":"child"}`)).Pid
	idle := decode[counted](t, invoke(t, s, `{"do":"count"}`)).Pid
	running := hold(context.Background(), t, s)
	s.Close()
	err := <-running.done
	check.That(t, errors.Is(err, ErrClosed), "the running request: %v; want ErrClosed", err)
	check.That(t, syscall.Kill(idle, 0) != nil, "the idle process is there after Close")
	await.True(t, "the child to be gone", func() bool { return gone(child) })
}

// gone reports whether a process has ended. One that nobody has waited for may stay as a zombie.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestCrashTakesAll has a process start another one and then end by itself.
func TestCrashTakesAll(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1})
	child := decode[counted](t, invoke(t, s, `{"do":"child"}`)).Pid
	check.Need(t, !gone(child), "the child does not run")
	invoke(t, s, `{"do":"exit"}`)
	await.True(t, "the child to be gone", func() bool { return gone(child) })
}

func TestCallerLeaves(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1})
	ctx, cancel := context.WithCancel(context.Background())
	request := hold(ctx, t, s)
	cancel()
	err := <-request.done
	check.That(t, errors.Is(err, context.Canceled), "Invoke = %v; want context.Canceled", err)
	check.OK(t, os.Remove(request.path))
	await.True(t, "the request to end by itself", func() bool {
		stats, _ := s.Stats("probe")
		return stats.Running == 0 && stats.Idle == 1
	})
}

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
	s := serve(t, Config{Kill: 0.5, Seed: 7}, template.Function{Reserved: -1})
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
	s := serve(t, Config{Kill: 1, Seed: 7}, template.Function{Reserved: -1})
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
	check.Is(t, gocmp.Diff(want, got), "")
}
