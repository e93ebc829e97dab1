package localstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/ministack"
	"github.com/streamsort/streamsort/localstack/template"
)

// Stack is what runs. Its methods may be called from any goroutine. Fields are set while it starts
// and only read afterwards.
type Stack struct {
	config        Config
	templates     []*loaded
	functionNames names
	scheduleNames names

	doors     *doors
	server    *localdb.Server
	services  *ministack.Server // nil where no other services run
	streams   map[string]string // by table
	functions *lambda.Service
	mappings  []*mapping
	schedules []template.Schedule
	queues    []readQueue
	failures  failures
	watched   []*watched
	logs      *logs

	closers []func()           // of what was started, the last one first
	cancel  context.CancelFunc // of mappings, queues, schedules and the watch
	running sync.WaitGroup     // mappings, queues, schedules and the watch
	closing sync.Once
}

// Run starts everything and returns when it runs; ctx is for the start alone. Call Close
// afterwards. The error joins all that is wrong with the templates.
func Run(ctx context.Context, config Config) (*Stack, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	if err := config.own(); err != nil {
		return nil, err
	}
	s := &Stack{config: config, functionNames: newNames(), scheduleNames: newNames(),
		cancel: func() {}}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.read, s.startDatabase, s.startFunctions} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(s.addMappings(), s.addQueues(), s.addSchedules()); err != nil {
		return err
	}
	s.serveAll()
	s.runAll()
	s.config.Logger.Info("ready", "url", s.URL(), "dynamodb", s.server.Endpoint)
	return nil
}

// read reads all templates; other services that they need are started for it.
func (s *Stack) read(ctx context.Context) error {
	var err error
	if s.templates, err = parse(s.config); err != nil {
		return err
	}
	main, err := openDoor(s.config.Port)
	if err != nil {
		return err
	}
	s.doors = &doors{main: main, others: map[string]*door{}}
	s.closers = append(s.closers, s.doors.close)
	if s.config.Services {
		if err := s.startServices(ctx); err != nil {
			return err
		}
	}
	if err := s.resolve(ctx); err != nil {
		return err
	}
	for _, l := range s.templates {
		for _, why := range l.NotRun {
			s.config.Logger.Warn("not run here; invoke its function with such events", "resource", why)
		}
		for _, f := range l.Functions {
			warnOfSecrets(s.config.Logger, f)
			if err := s.functionNames.add(f.LogicalID, f.Name); err != nil {
				return fmt.Errorf("%s: %w", l.path, err)
			}
		}
	}
	return cmp.Or(s.checkEnv(), checkReferences(s.templates))
}

// options is what a template is read with. Resources of other services are made first: their names
// and addresses may be values of the template.
func (s *Stack) options(ctx context.Context, l *loaded,
	imports map[string]string) (template.Options, error) {
	stack := stackName(l.path)
	options := template.Options{
		Stack: stack, Parameters: s.config.Parameters, Imports: imports,
		Endpoint: func(id, resourceType string) (string, error) {
			return s.doors.endpoint(stack, id, resourceType)
		},
	}
	text, services, err := l.doc.ForeignTemplate(options)
	if err != nil || text == nil {
		return options, err
	}
	s.config.Logger.Info("making resources of other services", "stack", stack, "services", services)
	if err := s.startServices(ctx); err != nil {
		return options, err
	}
	outputs, err := s.services.Deploy(ctx, stack, text, nil)
	if err != nil {
		return options, err
	}
	options.Foreign = func(id, attribute string) (string, error) {
		value, ok := outputs[template.ForeignOutput(id, attribute)]
		if !ok {
			return "", fmt.Errorf("MiniStack gives %s no attribute %q", id, attribute)
		}
		return value, nil
	}
	return options, nil
}

func (s *Stack) startServices(ctx context.Context) error {
	if s.services != nil {
		return nil
	}
	s.config.Logger.Info("starting MiniStack for SQS, SNS, EventBridge and other services; the first time, pip fetches it (107 MB)")
	services, err := ministack.Start(ctx)
	if err == nil {
		s.services, s.closers = services, append(s.closers, services.Close)
	}
	return err
}

func (s *Stack) startDatabase(ctx context.Context) error {
	lock, err := lockData(&s.config)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = lock.Close() }) // an error where none is kept
	if s.server, err = startServer(ctx, s.config); err != nil {
		return err
	}
	s.closers = append(s.closers, s.server.Close)
	// A server that has just started may be slow to make a table.
	client, err := dynamo.New(&dynamo.Options{Endpoint: s.server.Endpoint, MaxAttempts: 10})
	if err != nil {
		return err
	}
	s.config.Logger.Info("making tables", "server", s.server.Kind, "endpoint", s.server.Endpoint)
	s.streams, err = makeTables(ctx, client, s.templates)
	return err
}

func (s *Stack) startFunctions(ctx context.Context) error {
	programs, err := plan(s.templates, s.config)
	if err != nil {
		return err
	}
	if s.config.Watch { // from before the build on, so that no change is missed
		if s.watched, err = s.watchedSources(ctx, programs); err != nil {
			return err
		}
	}
	paths, err := build(ctx, s.templates, programs, s.config)
	if err != nil {
		return err
	}
	if s.logs, err = newLogs(s.config.LogDir, s.templates); err != nil {
		return err
	}
	s.closers = append(s.closers, s.logs.close)
	s.functions = lambda.New(lambda.Config{
		Log: s.logs.add, Unreserved: s.config.Concurrency, OnFailure: s.failures.add,
		Kill: s.config.Chaos.Kill, Seed: s.config.Chaos.Seed,
		AsyncRetry: s.config.AsyncRetry,
		OnError:    func(function string, r lambda.Response) { s.config.Failed(function, errorText(r)) },
	})
	s.closers = append(s.closers, func() { s.functions.Close(); s.running.Wait() })
	return s.addFunctions(paths)
}

// runAll runs mappings, queues, schedules and the watch until Close.
func (s *Stack) runAll() {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	if s.config.Watch {
		s.running.Go(func() { s.watch(ctx) })
	}
	for _, m := range s.mappings {
		s.running.Go(func() { s.runMapping(ctx, m) })
	}
	for _, q := range s.queues {
		if q.reader.Enabled {
			s.running.Go(func() { q.runner.Run(ctx) })
		}
	}
	for _, t := range s.schedules {
		if t.Enabled && t.Every > 0 {
			s.running.Go(func() { s.runSchedule(ctx, t) })
		}
	}
}

// URL is the address of the first HTTP API, of Lambda's Invoke action and of the runner's own
// state, without a final slash.
func (s *Stack) URL() string { return s.doors.main.url }

// DynamoDB is the address of the DynamoDB server.
func (s *Stack) DynamoDB() string { return s.server.Endpoint }

// HasServices reports whether MiniStack runs, for SQS, SNS, EventBridge and others.
func (s *Stack) HasServices() bool { return s.services != nil }

// Invoke runs a function, named by its logical id or its own name, and waits for its answer; see
// [lambda.Service.Invoke].
func (s *Stack) Invoke(ctx context.Context, function string,
	payload []byte) (lambda.Response, error) {
	return s.functions.Invoke(ctx,
		lambda.Request{Function: s.functionNames.find(function), Payload: payload})
}

// closeGrace is how long Close waits for requests of mappings under way.
const closeGrace = time.Second

// Close stops everything and returns when nothing of it is left. Requests from event source
// mappings get a second to end; others are cut off. Calling it again does nothing.
func (s *Stack) Close() {
	s.closing.Do(func() {
		s.cancel()
		ended := make(chan struct{})
		go func() {
			s.running.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(closeGrace):
		}
		for _, closer := range slices.Backward(s.closers) {
			closer()
		}
	})
}
