package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/pkg/ui"
)

// options say how the demo runs.
type options struct {
	// input is a file of messages; empty means made-up ones, count of them.
	input string
	count int
	// mode is sync or async: who moves the cursors.
	mode string
	// chaos kills function processes and delivers batches twice.
	chaos bool
	// stay leaves the stack and its live page up, until it is interrupted.
	stay bool
}

func fromEnvironment() (options, error) {
	o := options{input: os.Getenv("INPUT"), count: 2000, mode: os.Getenv("MODE")}
	for name, on := range map[string]*bool{"CHAOS": &o.chaos, "STAY": &o.stay} {
		switch value := os.Getenv(name); value {
		case "", "0":
		case "1":
			*on = true
		default:
			return o, fmt.Errorf("%s=%s must be 0 or 1", name, value)
		}
	}
	if o.mode == "" {
		o.mode = "sync"
	}
	if o.mode != "sync" && o.mode != "async" {
		return o, fmt.Errorf("MODE=%s must be sync or async", o.mode)
	}
	return o, nil
}

// patience is how long nothing may come out before the demo gives up: longer than the claims of
// killed processes take to run out, half a minute each, and than the tries of a message that failed
// are apart. The sweep runs by its own schedule: what is due comes by the timer.
const patience = 3 * time.Minute

// run runs the demo. The error says what was lost, repeated or out of order.
func run(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	arrivals, err := o.arrivals()
	if err != nil {
		return err
	}
	due, gaps := traffic.Due(arrivals)
	stack, counts, stop, err := start(ctx, o, out)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(out, "==> the stack runs (%.1fs): %s\n", time.Since(began).Seconds(), stack.URL())

	show := 8
	ways := []*way{
		{name: "your function", function: "WebhooksFunction", Watcher: traffic.NewWatcher(out, show, due)},
		{name: "process", function: "ReceiverFunction", Watcher: traffic.NewWatcher(out, 0, due)},
	}
	defer stack.Subscribe(func(l localstack.Line) {
		for _, w := range ways {
			if l.LogicalID == w.function {
				w.Line(l.Text)
			}
		}
	})()
	tellArrivals(out, arrivals, show)
	before, sending := counts(), time.Now()
	outcomes, err := send(ctx, stack.URL(), arrivals)
	if err != nil {
		return err
	}
	sent := time.Since(sending)
	fmt.Fprintf(out, "==> sent; waiting until all are out, in order, both ways\n")
	if err := drain(ctx, stack, ways, o.chaos, out); err != nil {
		return err
	}
	cost := counts().Sub(before).Total()
	err = summarise(out, summary{
		arrivals: len(arrivals), outcomes: outcomes, ways: ways, chaos: o.chaos, stack: stack,
		gaps: gaps, cost: cost, sent: sent, total: time.Since(began),
	})
	if err == nil && o.stay {
		err = stay(ctx, stack, out)
	}
	return err
}

// stay serves the live page of the stack, until it is interrupted.
func stay(ctx context.Context, stack *localstack.Stack, out io.Writer) error {
	page, err := ui.New(ui.Options{URL: stack.URL(), Operate: true})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:4001")
	if err != nil {
		listener, err = net.Listen("tcp", "127.0.0.1:0") // another page is there
	}
	if err != nil {
		return err
	}
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Fprintf(out, "==> the stack stays at %s, and its live page at http://%s; interrupt to end\n", stack.URL(), listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// way is one of the two ways in which messages leave: to a function of a user's own behind the
// cursors' stream, and to a function that process calls.
type way struct {
	name string
	// function is the logical id of the one whose log says what came.
	function string
	*traffic.Watcher
}

func (o options) arrivals() ([]traffic.Arrival, error) {
	if o.input != "" {
		return traffic.Read(o.input)
	}
	return traffic.Generate(o.count)
}

// tellArrivals says what is about to be sent, and shows the first few.
func tellArrivals(out io.Writer, arrivals []traffic.Arrival, show int) {
	queues := traffic.NewWatcher(out, 0, arrivals).Queues()
	fmt.Fprintf(out, "==> sending %d messages to %d queues, out of order\n", len(arrivals), queues)
	for _, a := range arrivals[:min(show, len(arrivals))] {
		fmt.Fprintf(out, "    in   %-24s seq %d\n", a.Queue, a.Seq)
	}
}

// start starts a server, a meter in front of it, and the stack's template with those of the
// consumers on it.
func start(ctx context.Context, o options, out io.Writer) (*localstack.Stack, func() meter.Counts, func(), error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, nil, nil, err
	}
	kind := localdb.Choose()
	fmt.Fprintf(out, "==> starting %s, and the functions of examples/demo/streamsort.patch.json (%s)\n", kind, o.mode)
	metered := meter.New(front.Transport())
	server, err := front.Start(ctx, kind, "", metered)
	if err != nil {
		return nil, nil, nil, err
	}
	config := localstack.Config{
		Templates: []string{
			filepath.Join(root, "examples", "demo", "streamsort.patch.json"),
			filepath.Join(root, "examples", "webhooks", "template.json"),
			filepath.Join(root, "examples", "receiver", "receiver.template.json"),
		},
		// No event bus here: what the sweep announces stays in its log.
		Env:    map[string]string{"STREAMSORT_MODE": o.mode, "SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Server: server.URL,
		Logger: slog.New(slog.DiscardHandler),
		// AWS waits a minute before it repeats an asynchronous call.
		AsyncRetry: 500 * time.Millisecond,
	}
	if o.chaos {
		config.Chaos = localstack.Chaos{Seed: 1, Kill: 0.05, Duplicate: 0.1, Late: 0.1, LateBy: 50 * time.Millisecond}
		config.Chaos.Queues = eventsource.Chaos{Duplicate: 0.1, Late: 0.1, LateBy: time.Second}
	}
	stack, err := localstack.Run(ctx, config)
	if err != nil {
		server.Close()
		return nil, nil, nil, err
	}
	return stack, metered.Counts, func() { stack.Close(); server.Close() }, nil
}

// How the messages are sent.
const (
	clients   = 4
	batchSize = 25
)

// send sends the messages in batches, by several clients at once, and counts the outcomes.
func send(ctx context.Context, base string, arrivals []traffic.Arrival) (map[string]int, error) {
	c, err := client.New(base)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	outcomes := map[string]int{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for batch := range slices.Chunk(arrivals, batchSize) {
		group.Go(func() error {
			documents := make([]json.RawMessage, len(batch))
			for i, a := range batch {
				documents[i] = a.Document
			}
			results, err := c.Put(ctx, documents)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range results {
				outcomes[r.Outcome]++
			}
			return err
		})
	}
	err = group.Wait()
	return outcomes, err
}

// drain waits until every message has come out, both ways, and every stream has been dealt with.
func drain(ctx context.Context, stack *localstack.Stack, ways []*way, chaos bool, out io.Writer) error {
	drained := progress.Wait{Total: len(ways) * ways[0].Distinct(), What: "messages are out", Patience: patience, Killed: chaos, Out: out}
	var since time.Time
	return drained.Until(ctx, func(context.Context) (count int, left string, err error) {
		for _, w := range ways {
			count += w.State().Messages
		}
		if count >= drained.Total && since.IsZero() {
			since = time.Now()
		}
		if !since.IsZero() && !stack.Idle(since) {
			left = "the streams are not dealt with"
		}
		return count, left, nil
	})
}
