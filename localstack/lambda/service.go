package lambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/child"
	"github.com/streamsort/streamsort/localstack/template"
)

// Limits of the Invoke action ("Lambda quotas", AWS Lambda Developer Guide).
const (
	MaxPayload      = 6 << 20     // bytes of a request
	MaxAsyncPayload = 1 << 20     // bytes of an asynchronous request
	MaxResponse     = 6<<20 + 100 // bytes of a response
	initLimit       = 10 * time.Second
	tailLimit       = 4 << 10
)

// Errors of an invocation that no function was given.
var (
	ErrUnknownFunction = errors.New("function not found")
	ErrThrottled       = errors.New("rate exceeded: the function's reserved concurrency is in use")
	ErrTooLarge        = errors.New("payload is too large")
	ErrNotJSON         = errors.New("could not parse request body into json")
	ErrClosed          = errors.New("the functions have been stopped")
)

// Program is what a function runs as.
type Program struct {
	Bootstrap string   // absolute path of the executable
	Arguments []string // of the executable
	Root      string   // folder of the function's code; the executable's where empty
}

// Config is what all functions share. The zero Config is valid.
type Config struct {
	// Log takes each line that a function writes, without its end. It is called from one goroutine
	// an environment, in the order of the lines.
	Log func(function, line string)
	// Unreserved is the most environments of a function without reserved concurrency; 16 where zero.
	Unreserved int
	// Kill is the probability, from 0 to 1, that a request's process is killed while it works, as by a
	// machine that fails: before the request had an effect, between two, or when all is done and only
	// the answer is missing. The caller gets what Lambda gives when a runtime dies. Seed fixes which
	// requests are hit and where each is aimed; what one has done by then depends on the machine.
	Kill float64
	Seed uint64
	// OnFailure takes what became of an asynchronous request that was given up on, as Lambda writes
	// it to an on-failure destination.
	OnFailure func(destination string, message []byte)
	// OnError gets each response with a FunctionError, but for those whose process Kill has ended. It
	// may be called from several goroutines at once.
	OnError func(function string, response Response)
	// AsyncRetry is what an asynchronous request that failed waits for its second attempt, and half
	// of what it waits for its third; a minute where zero, as on AWS.
	AsyncRetry time.Duration
}

// Service runs functions.
type Service struct {
	config  Config
	starter *child.Starter
	ctx     context.Context // ends when the service is closed
	cancel  context.CancelFunc
	work    sync.WaitGroup // requests, and environments until they are gone

	mu        sync.Mutex
	functions map[string]*function
	closed    bool
	random    *rand.Rand // decides what is killed
}

// New returns a service without functions.
func New(config Config) *Service {
	config.Unreserved = cmp.Or(config.Unreserved, 16)
	config.AsyncRetry = cmp.Or(config.AsyncRetry, time.Minute)
	if config.Log == nil {
		config.Log = func(string, string) {}
	}
	if config.OnFailure == nil {
		config.OnFailure = func(string, []byte) {}
	}
	if config.OnError == nil {
		config.OnError = func(string, Response) {}
	}
	s := &Service{config: config, starter: child.NewStarter(), functions: map[string]*function{},
		random: rand.New(rand.NewPCG(config.Seed, 0x5eed))}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Add makes a function known. Its first environment is started by its first request.
func (s *Service) Add(f template.Function, p Program) {
	p.Root = cmp.Or(p.Root, filepath.Dir(p.Bootstrap))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.functions[f.Name] = newFunction(s, f, p)
}

// Restart has every later request of a function run in a new process: its program is another one
// now. Requests that run go on to their end.
func (s *Service) Restart(name string) {
	if f, err := s.function(name); err == nil {
		f.restart()
	}
}

// Warm starts an environment of a function for its next request, so that what keeps it from
// starting is known before a request comes: it is the Response then, with FunctionError.
func (s *Service) Warm(name string) (Response, error) {
	f, err := s.function(name)
	if err != nil {
		return Response{}, err
	}
	if !s.begin() {
		return Response{}, ErrClosed
	}
	defer s.work.Done()
	inv := newInvocation(f, Request{})
	e, failure, said := f.start(inv)
	if failure != nil {
		return f.finish(inv, *failure, said, 0), nil
	}
	e.process.freeze()
	f.keep(e)
	return Response{}, nil
}

// Stats are what a function has done so far.
func (s *Service) Stats(name string) (Stats, error) {
	f, err := s.function(name)
	if err != nil {
		return Stats{}, err
	}
	return f.stats(), nil
}

func (s *Service) function(name string) (*function, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.functions[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknownFunction, name)
}

// Request is one invocation.
type Request struct {
	Function string // its name
	// Qualifier is the version or the alias that it is called by, empty for none: the function
	// receives it, and is the same under each.
	Qualifier string
	Payload   []byte // JSON text of at most MaxPayload bytes; {} where empty
	// ClientContext is JSON text for the function, empty for none.
	ClientContext string
}

// Response is what a function answered.
type Response struct {
	RequestID string
	Payload   []byte
	// FunctionError is empty where the function succeeded, else "Unhandled". Payload then is an
	// object with errorType and errorMessage.
	FunctionError string
	// LogTail is the end of what the function logged for this request: at most 4 KB.
	LogTail []byte
}

// Invoke runs a function and waits for its answer. A function that fails is a Response with
// FunctionError; the error is one of this package's own, or that of ctx. A caller that leaves early
// does not end the request.
func (s *Service) Invoke(ctx context.Context, r Request) (Response, error) {
	f, err := s.check(&r, MaxPayload)
	if err != nil {
		return Response{}, err
	}
	if !s.begin() {
		return Response{}, ErrClosed
	}
	if err := f.reserve(ctx); err != nil {
		s.work.Done()
		return Response{}, err
	}
	done := make(chan Response, 1)
	go func() {
		defer s.work.Done()
		response := f.serve(r)
		<-f.slots // before the answer: the caller's next request finds the place free
		done <- response
	}()
	select {
	case response := <-done:
		if s.ctx.Err() != nil && response.FunctionError != "" {
			return Response{}, ErrClosed
		}
		return response, nil
	case <-ctx.Done():
		return Response{}, ctx.Err()
	}
}

// begin adds one to the work that Close waits for, unless the service is closed.
func (s *Service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}

// Check reports why a request could not be made: the function is unknown, or the payload too large
// or not JSON.
func (s *Service) Check(r Request) error {
	_, err := s.check(&r, MaxPayload)
	return err
}

func (s *Service) check(r *Request, limit int) (*function, error) {
	f, err := s.function(r.Function)
	if err != nil {
		return nil, err
	}
	if len(r.Payload) > limit {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(r.Payload), limit)
	}
	if len(r.Payload) == 0 {
		r.Payload = []byte("{}")
	}
	if !json.Valid(r.Payload) {
		return nil, ErrNotJSON
	}
	return f, nil
}

// Close ends all requests and kills all processes. It returns when none is left. Calling it again
// does nothing.
func (s *Service) Close() {
	s.mu.Lock()
	closed, functions := s.closed, slices.Collect(maps.Values(s.functions))
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	s.cancel()
	for _, f := range functions {
		f.closeIdle()
	}
	s.work.Wait()
	for _, f := range functions {
		f.closeIdle()
	}
	s.starter.Close()
}
