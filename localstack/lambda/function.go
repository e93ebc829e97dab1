package lambda

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/localstack/template"
)

// Stats are what a function has done since it was added.
type Stats struct {
	Requests  int // begun
	Errors    int // answered with a function error
	Failing   int // those of them since the last success
	Throttled int
	Started   int // environments
	Killed    int // environments killed by chaos
	Idle      int // environments that wait, frozen
	Running   int // requests that run
}

// function is a function and its environments.
type function struct {
	template.Function
	Program
	service *Service
	slots   chan struct{} // holds one token a running request

	mu      sync.Mutex
	idle    []*environment // the last one was used last
	program int            // counts restarts: an environment of an earlier program is not kept
	counted Stats
	mean    time.Duration // of a request that succeeded, smoothed: chaos aims by it
}

func newFunction(s *Service, f template.Function, p Program) *function {
	limit := f.Reserved
	if limit < 0 {
		limit = s.config.Unreserved
	}
	return &function{Function: f, Program: p, service: s, slots: make(chan struct{}, limit),
		mean: 10 * time.Millisecond}
}

// reserve takes a place for one request: at once or not at all where concurrency is reserved, as
// Lambda throttles; else it waits for one.
func (f *function) reserve(ctx context.Context) error {
	select {
	case f.slots <- struct{}{}:
		return nil
	default:
	}
	if f.Reserved >= 0 {
		f.count(func(s *Stats) { s.Throttled++ })
		return ErrThrottled
	}
	select {
	case f.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-f.service.ctx.Done():
		return ErrClosed
	}
}

func (f *function) count(change func(*Stats)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.counted)
}

func (f *function) stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.counted
	s.Idle, s.Running = len(f.idle), len(f.slots)
	return s
}

// takeIdle takes the environment that was used last, nil where none waits.
func (f *function) takeIdle() *environment {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.idle) > 0 {
		last := f.idle[len(f.idle)-1]
		f.idle = f.idle[:len(f.idle)-1]
		if !last.process.gone() {
			return last
		}
		last.close()
	}
	return nil
}

// keep keeps an environment for the next request, unless the function was restarted.
func (f *function) keep(e *environment) {
	f.mu.Lock()
	current := e.program == f.program
	if current {
		f.idle = append(f.idle, e)
	}
	f.mu.Unlock()
	if !current {
		e.close()
	}
}

// restart has every request that comes from now on run in a new environment.
func (f *function) restart() {
	f.mu.Lock()
	f.program++
	f.mu.Unlock()
	f.closeIdle()
}

func (f *function) closeIdle() {
	f.mu.Lock()
	idle := f.idle
	f.idle = nil
	f.mu.Unlock()
	for _, e := range idle {
		e.close()
	}
}

// serve runs one request in an environment: a warm one where there is one, else a new one.
func (f *function) serve(r Request) Response {
	f.count(func(s *Stats) { s.Requests++ })
	inv := newInvocation(f, r)
	e := f.takeIdle()
	if e == nil {
		var failure *answer
		var said []byte
		if e, failure, said = f.start(inv); failure != nil {
			return f.finish(inv, *failure, said, 0)
		}
	}
	begun := time.Now()
	got := e.run(inv)
	tail := e.process.output.tail()
	took := time.Since(begun)
	if e.poll == nil || f.service.ctx.Err() != nil {
		e.close()
		return f.finish(inv, got, tail, took)
	}
	f.keep(e)
	return f.finish(inv, got, tail, took)
}

// start starts an environment and waits until its runtime asks for work. For one that fails it
// returns what the request is answered with, and the end of what it logged.
func (f *function) start(inv *invocation) (*environment, *answer, []byte) {
	f.mu.Lock()
	f.counted.Started++
	program := f.program
	f.mu.Unlock()
	e, err := newEnvironment(f)
	if err != nil {
		return nil, failed(inv.id, "Runtime.InvalidEntrypoint", "Error: "+err.Error()), nil
	}
	e.program = program
	if failure := e.initialise(inv); failure != nil {
		e.close()
		return nil, failure, e.process.output.tail()
	}
	return e, nil, nil
}

// plan decides whether Kill hits a request; nil is of one that it does not. A third of those that
// are hit dies as it begins, a third at a moment within the function's usual time, and a third when
// the answer is there.
func (f *function) plan() <-chan time.Time {
	s := f.service
	if s.config.Kill == 0 {
		return nil
	}
	s.mu.Lock()
	hit, moment := s.random.Float64() < s.config.Kill, 3*s.random.Float64()
	s.mu.Unlock()
	if !hit {
		return nil
	}
	var after time.Duration
	switch {
	case moment >= 2:
		after = time.Hour // longer than any request: the answer comes first
	case moment >= 1:
		f.mu.Lock()
		after = time.Duration((moment - 1) * float64(f.mean))
		f.mu.Unlock()
	}
	return time.After(after)
}

func (f *function) finish(inv *invocation, a answer, tail []byte, took time.Duration) Response {
	f.mu.Lock()
	if a.functionError != "" {
		f.counted.Errors++
		f.counted.Failing++
	} else {
		f.counted.Failing = 0
		f.mean = (3*f.mean + took) / 4
	}
	f.mu.Unlock()
	response := Response{
		RequestID: inv.id, Payload: a.payload, FunctionError: a.functionError, LogTail: tail,
	}
	if a.functionError != "" && !a.chaos && f.service.ctx.Err() == nil {
		f.service.config.OnError(f.Name, response)
	}
	return response
}

// variables are the environment of a function's process ("Defined runtime environment variables",
// AWS Lambda Developer Guide). The host's own variables are not passed on.
func (f *function) variables(runtimeAPI, stream string) []string {
	vars := map[string]string{
		"_HANDLER":                        f.Handler,
		"AWS_ACCESS_KEY_ID":               "local",
		"AWS_SECRET_ACCESS_KEY":           "local",
		"AWS_SESSION_TOKEN":               "local",
		"AWS_REGION":                      "us-east-1",
		"AWS_DEFAULT_REGION":              "us-east-1",
		"AWS_LAMBDA_FUNCTION_NAME":        f.Name,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": fmt.Sprint(f.MemoryMB),
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      stream,
		"AWS_LAMBDA_LOG_FORMAT":           f.LogFormat,
		"AWS_LAMBDA_RUNTIME_API":          runtimeAPI,
		"AWS_XRAY_CONTEXT_MISSING":        "LOG_ERROR",
		"LAMBDA_TASK_ROOT":                f.Root,
		"LAMBDA_RUNTIME_DIR":              "/var/runtime",
		"LANG":                            "en_US.UTF-8",
		"PATH":                            os.Getenv("PATH"),
		"TZ":                              ":UTC",
	}
	if f.LogLevel != "" {
		vars["AWS_LAMBDA_LOG_LEVEL"] = f.LogLevel
	}
	maps.Copy(vars, f.Env)
	list := make([]string, 0, len(vars))
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}
