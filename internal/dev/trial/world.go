// Package trial is a trial of the whole stack on this machine, for the demo and the scenarios of
// verify/robust: [World.Start] starts the stack, [World.Send] or [World.SendAll] sends messages to
// it, a watcher of [World.Watch] checks what comes out of each sink, [World.Drain] waits for all of
// it, and [World.Verdict] says what was wrong. [World.End] stops all that was started.
package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack"
)

// World is what a trial runs in: its stack, its account of what went in, its watchers of what comes
// out of it, and the place where all that it starts ends.
type World struct {
	Out   io.Writer
	Root  string
	Began time.Time

	Account  *traffic.Account
	Watchers []*traffic.Watcher
	Stack    *localstack.Stack
	Sender   *traffic.Sender
	// Direct is the DynamoDB server, by a way on which nothing goes wrong.
	Direct string

	ends []func()

	mu sync.Mutex
	// Wrong is what must not be, in words.
	Wrong []string
}

// New is one that prints to out.
func New(out io.Writer) (*World, error) {
	root, err := localdb.Root()
	return &World{Out: out, Root: root, Began: time.Now(), Account: traffic.NewAccount()}, err
}

// Say prints a line of what happens now.
func (w *World) Say(format string, arguments ...any) {
	fmt.Fprintf(w.Out, "==> "+format+"\n", arguments...)
}

// Row prints a row of the summary.
func (w *World) Row(name, format string, arguments ...any) {
	fmt.Fprintf(w.Out, "    %-19s %s\n", name, fmt.Sprintf(format, arguments...))
}

// Print prints a line of what a stage shows.
func (w *World) Print(format string, arguments ...any) {
	fmt.Fprintf(w.Out, "    "+format+"\n", arguments...)
}

// Not notes what must not be.
func (w *World) Not(format string, arguments ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Wrong = append(w.Wrong, fmt.Sprintf(format, arguments...))
}

// Later has something stopped or removed at the end: what came last goes first.
func (w *World) Later(end func()) { w.ends = append(w.ends, end) }

// End stops all that runs, waits for it, and removes what it left.
func (w *World) End() {
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	w.ends = nil
}

// Folder makes a folder in the project's .build, from where the functions' sources are found.
func (w *World) Folder() string {
	build := filepath.Join(w.Root, ".build")
	check.Must(os.MkdirAll(build, 0o700))
	folder := check.Get(os.MkdirTemp(build, "trial-"))
	w.Later(func() { _ = os.RemoveAll(folder) })
	return folder
}

// Serve serves something on this machine, and returns its address.
func (w *World) Serve(handler http.Handler) string {
	server := httptest.NewServer(handler)
	w.Later(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// During runs something beside the trial. The stop that it returns ends it, waits for it, and
// returns its error; it may be called again.
func (w *World) During(ctx context.Context, run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	w.Later(func() { _ = stop() })
	return stop
}

// Setup is what a trial's stack is made of.
type Setup struct {
	// Templates are those of the stack, and of what stands beside it, from the project's root.
	Templates []string
	// Through stands before DynamoDB; nil for nothing. Kind is that of the server then, one for much
	// traffic where it is empty.
	Through http.RoundTripper
	Kind    localdb.Kind
	// Config has what is the trial's own.
	Config localstack.Config
}

// Start starts the stack, without an event bus of its own where the trial has none.
func (w *World) Start(ctx context.Context, s Setup) {
	c := s.Config
	c.Server = string(localdb.Choose())
	if s.Through != nil {
		server := check.Get(front.Start(ctx, cmp.Or(s.Kind, front.Steady()), "", s.Through))
		w.Later(server.Close)
		c.Server, w.Direct = server.URL, server.Direct
	}
	for _, template := range s.Templates {
		if !filepath.IsAbs(template) {
			template = filepath.Join(w.Root, template)
		}
		c.Templates = append(c.Templates, template)
	}
	if c.Env == nil {
		c.Env = map[string]string{"STREAMSORT_EVENT_BUS": ""}
	}
	c.Logger = slog.New(slog.DiscardHandler)
	w.Stack = check.Get(localstack.Run(ctx, c))
	w.Later(w.Stack.Close)
	w.Direct = cmp.Or(w.Direct, w.Stack.DynamoDB())
	w.Say("the stack runs (%.1fs): %s", time.Since(w.Began).Seconds(), w.Stack.URL())
	w.Sender = check.Get(traffic.NewSender(w.Stack.URL()))
}

// Get asks the API for a list, page by page.
func Get[T any](ctx context.Context, c *client.Client, path string,
	query url.Values) (all []T, err error) {
	for {
		var page struct {
			List, Consumers []T // these are of one queue
			Next            string
		}
		if err := c.Call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, err
		}
		all = slices.Concat(all, page.List, page.Consumers)
		if page.Next == "" {
			return all, nil
		}
		query.Set("after", page.Next)
	}
}

// Watch adds a watcher of a sink.
func (w *World) Watch(
	name string, rule traffic.Rule, gets func(traffic.Place) bool,
) *traffic.Watcher {
	watched := traffic.NewWatcher(name, rule, gets, w.Account)
	w.Watchers = append(w.Watchers, watched)
	return watched
}

// WatchLog has a watcher take what the function of a logical id logs.
func (w *World) WatchLog(watched *traffic.Watcher, logicalID string) {
	w.Later(w.Stack.Subscribe(func(l localstack.Line) {
		if l.LogicalID == logicalID {
			watched.Line(l.Text)
		}
	}))
}

// Came is how many messages came out of all watched sinks.
func (w *World) Came() (sum int) {
	for _, watched := range w.Watchers {
		sum += watched.State().Messages
	}
	return sum
}

// Drain waits until every message is out of each watched sink, and nothing is left. It says what is
// missing where nothing comes any more.
func (w *World) Drain(
	ctx context.Context, patience time.Duration, left func(context.Context) (string, error),
) error {
	want := 0
	for _, watched := range w.Watchers {
		want += watched.Due()
	}
	wait := progress.Wait{
		Total: want, What: "messages are out", Patience: patience,
		Killed: w.Stack.Killed() > 0, Out: w.Out,
	}
	err := wait.Until(ctx, func(ctx context.Context) (count int, said string, err error) {
		if count = w.Came(); count >= want && left != nil {
			said, err = left(ctx)
		}
		return count, said, err
	})
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, errors.New(w.stuck(ctx)))
	}
	return err
}

// stuck says how the consumers are of a queue from which something is missing.
func (w *World) stuck(ctx context.Context) string {
	var lines []string
	for _, watched := range w.Watchers {
		if missing := watched.Missing(); len(missing) > 0 {
			query := url.Values{"queue": {missing[0].Queue}}
			all, err := Get[json.RawMessage](ctx, w.Sender.Client, "/consumers", query)
			lines = append(lines, fmt.Sprintf("%s: missing %d, the first is %v; its consumers: %s %v",
				watched.Name, len(missing), missing[0], all, err))
		}
	}
	return strings.Join(lines, "\n")
}

// Idle returns what Drain may wait for: that the streams are dealt with up to the time when all was
// out.
func (w *World) Idle() func(context.Context) (string, error) {
	var since time.Time
	return func(context.Context) (string, error) {
		if since.IsZero() {
			since = time.Now()
		}
		if !w.Stack.Idle(since) {
			return "the streams are not dealt with", nil
		}
		return "", nil
	}
}

// NothingGivenUp notes what functions and event source mappings gave up on.
func (w *World) NothingGivenUp() {
	for _, failure := range w.Stack.Failures() {
		w.Not("given up: %s %s", failure.Queue, failure.Message)
	}
	for _, m := range w.Stack.Mappings() {
		if m.Failed != "" {
			w.Not("%s ended: %s", m.LogicalID, m.Failed)
		}
	}
}

// Verdict prints what came out, and joins the reasons to fail.
func (w *World) Verdict() error {
	violations, lost := 0, 0
	for _, watched := range w.Watchers {
		s, missing := watched.State(), watched.Missing()
		w.Row("out, "+watched.Name, "%d messages, %d again, %d stale, %d violations, %d lost",
			s.Messages, s.Again, s.Stale, s.Violations, len(missing))
		violations, lost = violations+s.Violations, lost+len(missing)
		w.Wrong = append(w.Wrong, watched.Report()...)
		if len(missing) > 0 {
			w.Not("%s: %d messages are lost, the first is %v", watched.Name, len(missing), missing[0])
		}
		if went, _ := w.Account.Count(); s.Messages == 0 && (went == 0 || watched.Due() > 0) {
			w.Not("%s: nothing came out", watched.Name)
		}
	}
	if w.Sender != nil {
		w.Wrong = append(w.Wrong, w.Sender.Sent().Wrong...)
	}
	w.Row("wrong", "%d: %d violations, %d lost", len(w.Wrong), violations, lost)
	w.Row("seconds", "%.0f", time.Since(w.Began).Seconds())
	var errs []error
	for _, said := range w.Wrong {
		errs = append(errs, errors.New(said))
	}
	return errors.Join(errs...)
}

// Send sends what produce gives it, by so many clients side by side, and returns when all of it has
// an answer. Requests that begin with the same queue are sent one after the other.
func (w *World) Send(
	ctx context.Context, clients int,
	produce func(context.Context, func(request ...traffic.Message) error) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make([]chan []traffic.Message, clients)
	for i := range work {
		work[i] = make(chan []traffic.Message, 4)
		group.Go(func() error {
			for request := range work[i] {
				if err := w.Put(ctx, request); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, client := range work {
				close(client)
			}
		}()
		return produce(ctx, func(request ...traffic.Message) error {
			if len(request) == 0 {
				return nil
			}
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(request[0].Queue)) // never fails
			select {
			case <-ctx.Done():
				return ctx.Err()
			case work[int(hash.Sum32())%clients] <- request:
				return nil
			}
		})
	})
	return group.Wait()
}

// SendAll sends messages in their order, some in each request.
func (w *World) SendAll(ctx context.Context, clients, size int, messages []traffic.Message) error {
	return w.Send(ctx, clients, func(_ context.Context, send func(...traffic.Message) error) error {
		return Chunks(messages, size, send)
	})
}

// Chunks sends messages in requests of a size.
func Chunks(messages []traffic.Message, size int, send func(...traffic.Message) error) error {
	for request := range slices.Chunk(messages, size) {
		if err := send(request...); err != nil {
			return err
		}
	}
	return nil
}

// Put puts a request until all of it is accepted, and then the messages that conflict with some of
// it. A duplicate is accepted: an answer may have been lost on the way, or on the function's way to
// its tables. One that was none is a message that is lost in the end.
func (w *World) Put(ctx context.Context, request []traffic.Message) error {
	var conflicts []json.RawMessage
	for _, m := range request {
		w.Account.Note(m)
		if m.Conflict != nil {
			conflicts = append(conflicts, m.Conflict)
		}
	}
	documents := traffic.Documents(request)
	err := w.Sender.Put(ctx, documents, "advanced", "parked", "stored", "duplicate")
	if err != nil || conflicts == nil {
		return err
	}
	return w.Sender.Put(ctx, conflicts, "conflict")
}
