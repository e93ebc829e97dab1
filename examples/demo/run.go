package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/internal/meter"
	"github.com/streamsort/streamsort/localstack"
)

// options say how the demo runs.
type options struct {
	// input is a file of messages; empty means made-up ones, count of them.
	input string
	count int
	// mode is sync or async: who moves the cursors.
	mode string
	// chaos kills function processes and hands batches on twice.
	chaos bool
}

func fromEnvironment() (options, error) {
	o := options{input: os.Getenv("INPUT"), count: 2000, mode: os.Getenv("MODE"), chaos: os.Getenv("CHAOS") != "" && os.Getenv("CHAOS") != "0"}
	if o.mode == "" {
		o.mode = "sync"
	}
	if o.mode != "sync" && o.mode != "async" {
		return o, fmt.Errorf("MODE=%s must be sync or async", o.mode)
	}
	return o, nil
}

// patience is how long nothing may come out before the demo gives up.
const patience = 60 * time.Second

// run runs the demo. The error says what was lost, repeated or out of order.
func run(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	arrivals, err := o.arrivals()
	if err != nil {
		return err
	}
	stack, counts, stop, err := start(ctx, o, out)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(out, "==> the stack runs (%.1fs): %s\n", time.Since(began).Seconds(), stack.URL())

	show := 8
	watch := newWatcher(out, show, arrivals)
	defer stack.Subscribe(func(l localstack.Line) {
		if l.LogicalID == "WebhooksFunction" {
			watch.line(l.Text)
		}
	})()

	fmt.Fprintf(out, "==> sending %d messages to %d queues, out of order\n", len(arrivals), len(watch.want))
	for _, a := range arrivals[:min(show, len(arrivals))] {
		fmt.Fprintf(out, "    in   %-24s seq %d\n", a.queue, a.seq)
	}
	before, sending := counts(), time.Now()
	outcomes, err := send(ctx, stack.URL(), arrivals)
	if err != nil {
		return err
	}
	sent := time.Since(sending)
	fmt.Fprintf(out, "==> sent; waiting until all are out, in order\n")
	if err := drain(ctx, stack, watch, out); err != nil {
		return err
	}
	cost := counts().Sub(before).Total()
	return summarise(out, summary{
		arrivals: len(arrivals), outcomes: outcomes, watch: watch, chaos: o.chaos, stack: stack,
		cost: cost, sent: sent, total: time.Since(began),
	})
}

func (o options) arrivals() ([]arrival, error) {
	if o.input != "" {
		return readInput(o.input)
	}
	return generate(o.count)
}

// start starts a server, a meter in front of it, and the stack's template with
// the consumer's on it.
func start(ctx context.Context, o options, out io.Writer) (*localstack.Stack, func() meter.Counts, func(), error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, nil, nil, err
	}
	kind := localdb.Choose()
	fmt.Fprintf(out, "==> starting %s, and the functions of infra/cdk/streamsort.template.json (%s)\n", kind, o.mode)
	server, err := localdb.Start(ctx, kind, "")
	if err != nil {
		return nil, nil, nil, err
	}
	metered := meter.New(&http.Transport{MaxIdleConnsPerHost: 256})
	target, err := url.Parse(server.Endpoint)
	if err != nil {
		server.Close()
		return nil, nil, nil, err
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: metered,
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // a killed function hangs up
	})
	stopServers := func() { proxy.Close(); server.Close() }
	config := localstack.Config{
		Templates: []string{
			filepath.Join(root, "infra", "cdk", "streamsort.template.json"),
			filepath.Join(root, "examples", "webhooks", "template.json"),
		},
		// No event bus here: what the sweep announces stays in its log.
		Env:    map[string]string{"STREAMSORT_MODE": o.mode, "SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Server: proxy.URL,
		Logger: slog.New(slog.DiscardHandler),
	}
	if o.chaos {
		config.Chaos = localstack.Chaos{Seed: 1, Kill: 0.1, Duplicate: 0.1, Late: 0.1, LateBy: 50 * time.Millisecond}
	}
	stack, err := localstack.Run(ctx, config)
	if err != nil {
		stopServers()
		return nil, nil, nil, err
	}
	return stack, metered.Counts, func() { stack.Close(); stopServers() }, nil
}

// How the messages are sent.
const (
	clients   = 4
	batchSize = 25
)

// send sends the messages in batches, by several clients at once, and counts
// the outcomes.
func send(ctx context.Context, base string, arrivals []arrival) (map[string]int, error) {
	c, err := client.New(base)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	outcomes := map[string]int{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for part := range slices.Chunk(arrivals, batchSize) {
		group.Go(func() error {
			documents := make([]json.RawMessage, len(part))
			for i, a := range part {
				documents[i] = a.document
			}
			results, err := c.Put(ctx, documents)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range results {
				outcomes[r.Outcome]++
			}
			return nil
		})
	}
	return outcomes, group.Wait()
}

// drain waits until every message has come out and every stream has been dealt
// with.
func drain(ctx context.Context, stack *localstack.Stack, watch *watcher, out io.Writer) error {
	want := watch.distinct()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	moved, told, last := time.Now(), time.Now(), -1
	var since time.Time
	for {
		s := watch.state()
		if s.messages != last {
			moved, last = time.Now(), s.messages
		}
		switch {
		case s.messages >= want && since.IsZero():
			since = time.Now()
		case !since.IsZero() && stack.Idle(since):
			return nil
		case time.Since(moved) > patience:
			return fmt.Errorf("%d of %d messages came out, and no more for %v", s.messages, want, patience)
		case time.Since(told) > time.Second:
			told = time.Now()
			fmt.Fprintf(out, "    %d of %d messages are out\n", s.messages, want)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// summary is what the demo ends with.
type summary struct {
	arrivals    int
	outcomes    map[string]int
	watch       *watcher
	chaos       bool
	stack       *localstack.Stack
	cost        meter.Count
	sent, total time.Duration
}

// summarise prints the summary; the error says what must not be.
func summarise(out io.Writer, s summary) error {
	state := s.watch.state()
	want := s.watch.distinct()
	lost := want - state.messages
	killed, repeatedByStream := 0, int64(0)
	for _, f := range s.stack.Functions() {
		killed += f.Stats.Killed
	}
	for _, m := range s.stack.Mappings() {
		repeatedByStream += m.Stats.Repeated
	}
	var told []string
	for _, outcome := range slices.Sorted(maps.Keys(s.outcomes)) {
		told = append(told, fmt.Sprintf("%d %s", s.outcomes[outcome], outcome))
	}
	per := float64(max(want, 1))
	for _, row := range []struct{ name, value string }{
		{"in", fmt.Sprintf("%d messages, sent in %.1fs", s.arrivals, s.sent.Seconds())},
		{"told", strings.Join(told, ", ")},
		{"duplicates", fmt.Sprint(s.outcomes["duplicate"])},
		{"conflicts", fmt.Sprint(s.outcomes["conflict"])},
		{"out", fmt.Sprintf("%d messages of %d queues, in %d batches", state.messages, len(s.watch.want), state.batches)},
		{"out again", fmt.Sprintf("%d batches", state.repeated)},
		{"order violations", fmt.Sprint(len(state.violations))},
		{"lost", fmt.Sprint(lost)},
		{"a message", fmt.Sprintf("%.2f requests, %.2f write and %.2f read units, by AWS's rules", float64(s.cost.Requests)/per, s.cost.Writes/per, s.cost.Reads/per)},
		{"processes killed", fmt.Sprint(killed)},
		{"seconds", fmt.Sprintf("%.1f", s.total.Seconds())},
	} {
		fmt.Fprintf(out, "    %-17s %s\n", row.name, row.value)
	}
	var errs []error
	for _, violation := range state.violations {
		errs = append(errs, errors.New(violation))
	}
	if lost != 0 {
		errs = append(errs, fmt.Errorf("%d messages are lost", lost))
	}
	if state.repeated > 0 && !s.chaos {
		errs = append(errs, fmt.Errorf("%d batches came twice, and nothing was killed", state.repeated))
	}
	if s.chaos && killed == 0 && repeatedByStream == 0 {
		errs = append(errs, errors.New("CHAOS is on, and nothing was killed or repeated"))
	}
	for _, failure := range s.stack.Failures() {
		errs = append(errs, fmt.Errorf("given up: %s", failure.Message))
	}
	switch {
	case len(errs) > 0:
	case state.repeated > 0:
		fmt.Fprintf(out, "==> everything came out in order, unchanged; %d batches came again, known by queue, from and to\n", state.repeated)
	default:
		fmt.Fprintln(out, "==> everything came out once, in order, unchanged")
	}
	return errors.Join(errs...)
}
