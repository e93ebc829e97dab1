package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// world is what a scenario runs in: its stack, its account of what went in, its watchers of what
// comes out, and the place where all that it starts ends.
type world struct {
	values
	out   io.Writer
	root  string
	began time.Time

	account  *account
	watchers []*watcher
	stack    *localstack.Stack
	sender   *traffic.Sender
	// direct is the DynamoDB server, by a way on which nothing goes wrong.
	direct string

	ends []func()

	mu    sync.Mutex
	wrong []string
}

func newWorld(v values, out io.Writer) (*world, error) {
	root, err := localdb.Root()
	return &world{values: v, out: out, root: root, began: time.Now(), account: newAccount()}, err
}

// say prints a line of what happens now.
func (w *world) say(format string, arguments ...any) {
	fmt.Fprintf(w.out, "==> "+format+"\n", arguments...)
}

// row prints a row of the summary.
func (w *world) row(name, format string, arguments ...any) {
	fmt.Fprintf(w.out, "    %-19s %s\n", name, fmt.Sprintf(format, arguments...))
}

// print prints a line of what a stage shows.
func (w *world) print(format string, arguments ...any) {
	fmt.Fprintf(w.out, "    "+format+"\n", arguments...)
}

// stage is a part of a scenario.
type stage struct {
	what string
	do   func(context.Context)
}

// stages does one after the other, and prints how long each takes.
func (w *world) stages(ctx context.Context, all []stage) {
	for _, s := range all {
		began := time.Now()
		w.say("%s", s.what)
		if err := check.Try(func() { s.do(ctx) }); err != nil {
			check.Must(fmt.Errorf("%s: %w", s.what, err))
		}
		w.print("%.1f s", time.Since(began).Seconds())
	}
}

// execute runs a program in a folder, and returns what it printed, without the last line's end. No
// environment is this process's.
func execute(ctx context.Context, folder string, environ []string, name string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.Env = folder, environ
	var errs strings.Builder
	c.Stderr = &errs
	said, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(arguments, " "), err, said, &errs)
	}
	return strings.TrimSuffix(string(said), "\n"), err
}

// wait is for so many, as long as the claims of killed processes last.
func (w *world) wait(total int, what string) progress.Wait {
	return progress.Wait{Total: total, What: what, Patience: claimPatience, Out: w.out}
}

// most is how many violations of one kind are kept in words.
const most = 20

// not notes what must not be.
func (w *world) not(format string, arguments ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, arguments...))
}

// later has something stopped or removed at the end: what came last goes first.
func (w *world) later(end func()) { w.ends = append(w.ends, end) }

// end stops all that runs, waits for it, and removes what it left.
func (w *world) end() {
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	w.ends = nil
}

// folder makes a folder in the project's .build, from where the functions' sources are found.
func (w *world) folder() string {
	build := filepath.Join(w.root, ".build")
	check.Must(os.MkdirAll(build, 0o700))
	folder := check.Get(os.MkdirTemp(build, "robust-"))
	w.later(func() { _ = os.RemoveAll(folder) })
	return folder
}

// serve serves something on this machine, and returns its address.
func (w *world) serve(handler http.Handler) string {
	server := httptest.NewServer(handler)
	w.later(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// during runs something beside the scenario. The stop that it returns ends it, waits for it, and
// returns its error; it may be called again.
func (w *world) during(ctx context.Context, run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	w.later(func() { _ = stop() })
	return stop
}

// sweepEvery is the time between two runs of the sweep, which has minutes on AWS.
const sweepEvery = 4 * time.Second

// sweeps runs the sweep until the context ends. What one that fails or is killed leaves, the next
// one does.
func (w *world) sweeps(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := w.stack.Sweep(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// setup is what a scenario's stack is made of.
type setup struct {
	// templates are those of the stack, and of what stands beside it, from the project's root.
	templates []string
	// through stands before DynamoDB; nil for nothing.
	through http.RoundTripper
	// config has what is the scenario's own.
	config localstack.Config
}

// start starts the stack, without an event bus of its own where the scenario has none.
func (w *world) start(ctx context.Context, s setup) {
	c := s.config
	c.Server = string(localdb.Choose())
	if s.through != nil {
		server := check.Get(front.Start(ctx, front.Steady(), "", s.through))
		w.later(server.Close)
		c.Server, w.direct = server.URL, server.Direct
	}
	for _, template := range s.templates {
		if !filepath.IsAbs(template) {
			template = filepath.Join(w.root, template)
		}
		c.Templates = append(c.Templates, template)
	}
	if c.Env == nil {
		c.Env = map[string]string{"STREAMSORT_EVENT_BUS": ""}
	}
	c.Logger = slog.New(slog.DiscardHandler)
	w.stack = check.Get(localstack.Run(ctx, c))
	w.later(w.stack.Close)
	w.direct = cmp.Or(w.direct, w.stack.DynamoDB())
	w.say("the stack runs (%.1fs): %s", time.Since(w.began).Seconds(), w.stack.URL())
	w.sender = check.Get(traffic.NewSender(w.stack.URL()))
}

// tables looks at the stack's tables.
func (w *world) tables() (*delivery.Deliverer, *cursor.Sorter) {
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: w.direct}))
	sorter := check.Get(cursor.New(check.Get(cursor.NewDynamo(client, cursor.Names{})), nil))
	return check.Get(delivery.New(delivery.NewDynamo(client, delivery.Names{}), sorter, nil)), sorter
}

// get asks the API for a list, page by page.
func get[T any](ctx context.Context, w *world, path, list string, query url.Values) (all []T, err error) {
	for {
		var page map[string]json.RawMessage
		if err := w.sender.Client.Call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, err
		}
		var some []T
		if err := json.Unmarshal(page[list], &some); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, page[list], err)
		}
		all = append(all, some...)
		var next string
		if page["next"] != nil {
			if err := json.Unmarshal(page["next"], &next); err != nil {
				return nil, err
			}
		}
		if next == "" {
			return all, nil
		}
		query.Set("after", next)
	}
}

// blocked are the queues of which a consumer is blocked.
func (w *world) blocked(ctx context.Context) ([]string, error) {
	rows, err := get[struct{ Queue string }](ctx, w, "/consumers", "list", url.Values{"state": {"blocked"}, "limit": {"50"}})
	queues := make([]string, len(rows))
	for i, r := range rows {
		queues[i] = r.Queue
	}
	return queues, err
}

// came is how many messages came out of all watched sinks.
func (w *world) came() (sum int) {
	for _, watched := range w.watchers {
		sum += watched.state().messages
	}
	return sum
}

// drain waits until every message is out of each watched sink, and nothing is left. It says what is
// missing where nothing comes any more.
func (w *world) drain(ctx context.Context, patience time.Duration, left func(context.Context) (string, error)) error {
	want := 0
	for _, watched := range w.watchers {
		want += watched.due()
	}
	wait := progress.Wait{Total: want, What: "messages are out", Patience: patience, Out: w.out}
	err := wait.Until(ctx, func(ctx context.Context) (count int, said string, err error) {
		if count = w.came(); count >= want && left != nil {
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
func (w *world) stuck(ctx context.Context) string {
	var lines []string
	for _, watched := range w.watchers {
		if missing := watched.missing(); len(missing) > 0 {
			all, err := get[json.RawMessage](ctx, w, "/consumers", "consumers", url.Values{"queue": {missing[0].queue}})
			lines = append(lines, fmt.Sprintf("%s: missing %d, the first is %v; its consumers: %s %v", watched.name, len(missing), missing[0], all, err))
		}
	}
	return strings.Join(lines, "\n")
}

// idle returns what drain may wait for: that the streams are dealt with up to the time when all was
// out.
func (w *world) idle() func(context.Context) (string, error) {
	var since time.Time
	return func(context.Context) (string, error) {
		if since.IsZero() {
			since = time.Now()
		}
		if !w.stack.Idle(since) {
			return "the streams are not dealt with", nil
		}
		return "", nil
	}
}

// nothingGivenUp notes what functions and event source mappings gave up on.
func (w *world) nothingGivenUp() {
	for _, failure := range w.stack.Failures() {
		w.not("given up: %s %s", failure.Queue, failure.Message)
	}
	for _, m := range w.stack.Mappings() {
		if m.Failed != "" {
			w.not("%s ended: %s", m.LogicalID, m.Failed)
		}
	}
}

// verdict prints what came out, and joins the reasons to fail.
func (w *world) verdict() error {
	violations, lost := 0, 0
	for _, watched := range w.watchers {
		s, missing := watched.state(), watched.missing()
		w.row("out, "+watched.name, "%d messages, %d again, %d stale, %d violations, %d lost", s.messages, s.again, s.stale, s.violations, len(missing))
		violations, lost = violations+s.violations, lost+len(missing)
		w.wrong = append(w.wrong, watched.report()...)
		if len(missing) > 0 {
			w.not("%s: %d messages are lost, the first is %v", watched.name, len(missing), missing[0])
		}
		if s.messages == 0 {
			w.not("%s: nothing came out", watched.name)
		}
	}
	if w.sender != nil {
		w.wrong = append(w.wrong, w.sender.Sent().Wrong...)
	}
	w.row("wrong", "%d: %d violations, %d lost", len(w.wrong), violations, lost)
	w.row("seconds", "%.0f", time.Since(w.began).Seconds())
	var errs []error
	for _, said := range w.wrong {
		errs = append(errs, errors.New(said))
	}
	return errors.Join(errs...)
}
