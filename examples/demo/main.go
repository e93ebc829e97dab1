// Command demo shows the main job on this machine: it starts the stack's own template on the local
// stack, shows a gap, a crash and a retry with five messages, sends thousands out of order over
// HTTP, watches a consumer get them in order, checks that nothing was lost, repeated or out of
// order, and ends. `make demo` runs it; INPUT, MODE, CHAOS and STAY say how.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/localstack/eventsource"
	"github.com/streamsort/streamsort/pkg/ui"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := fromEnvironment()
	if err == nil && options.input == "" {
		err = check.Try(func() { story(ctx, os.Stdout) })
	}
	if err == nil {
		err = run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

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
	o := options{input: os.Getenv("INPUT"), count: 2000, mode: cmp.Or(os.Getenv("MODE"), "sync")}
	for name, on := range map[string]*bool{"CHAOS": &o.chaos, "STAY": &o.stay} {
		switch value := os.Getenv(name); value {
		case "", "0":
		case "1":
			*on = true
		default:
			return o, fmt.Errorf("%s=%s must be 0 or 1", name, value)
		}
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
	w, err := trial.New(out)
	if err != nil {
		return err
	}
	defer w.End()
	return check.Try(func() {
		messages := traffic.Generate(o.count, "")
		if o.input != "" {
			messages = check.Get(traffic.Read(o.input))
		}
		o.send(ctx, w, messages)
		if o.stay {
			stay(ctx, w)
		}
	})
}

// send starts the stack's template with those of the consumers on it, sends the messages, and
// watches them come out.
func (o options) send(ctx context.Context, w *trial.World, messages []traffic.Message) {
	const template = "examples/demo/streamsort.patch.json"
	w.Say("starting %s, and the functions of %s (%s)", localdb.Choose(), template, o.mode)
	counted := meter.New(front.Transport())
	w.Start(ctx, trial.Setup{
		Templates: []string{
			template, "examples/webhooks/template.json", "examples/receiver/receiver.template.json",
		},
		Through: counted, Kind: localdb.Choose(), Config: o.config(),
	})
	const show = 8
	due, gaps := traffic.Due(messages)
	// Two ways in which messages leave: to a function of a user's own behind the cursors' stream, and
	// to a function that process calls.
	rule := traffic.Unfailing // no token is stale where nothing is killed
	if o.chaos {
		rule = traffic.Fenced
	}
	yours, process := w.Watch("your function", rule, due), w.Watch("process", rule, due)
	yours.Out, yours.Show = w.Out, show
	w.WatchLog(yours, "WebhooksFunction")
	w.WatchLog(process, "ReceiverFunction")
	for _, m := range messages {
		w.Account.Note(m)
	}
	_, queues := w.Account.Count()
	w.Say("sending %d messages to %d queues, out of order", len(messages), queues)
	for _, m := range messages[:min(show, len(messages))] {
		w.Print("in   %-24s seq %d", m.Queue, m.Seq)
	}
	before, began := counted.Count(), time.Now()
	check.Must(put(ctx, w.Sender, messages))
	sent := time.Since(began)
	w.Say("sent; waiting until all are out, in order, both ways")
	check.Must(w.Drain(ctx, patience, w.Idle()))
	w.Row("in", "%d messages, sent in %.1fs", len(messages), sent.Seconds())
	o.summarise(w, counted.Count().Sub(before))
	everything := "everything"
	for _, gap := range gaps {
		w.Say("%s", gap)
		everything = "everything before a gap"
	}
	if again := yours.State().Again + process.State().Again; again > 0 {
		w.Say("%s came out in order, unchanged; %d messages came again, each under a higher token",
			everything, again)
	} else {
		w.Say("%s came out once, in order, unchanged, both ways", everything)
	}
}

// config is what is the demo's own. No event bus is here: what the sweep announces stays in its
// log.
func (o options) config() localstack.Config {
	config := localstack.Config{
		Env: map[string]string{"STREAMSORT_MODE": o.mode, "SweepFunction.STREAMSORT_EVENT_BUS": ""},
		// AWS waits a minute before it repeats an asynchronous call.
		AsyncRetry: 500 * time.Millisecond,
	}
	if o.chaos {
		config.Chaos = localstack.Chaos{
			Seed: 1, Kill: 0.05, Duplicate: 0.1, Late: 0.1, LateBy: 50 * time.Millisecond,
			Queues: eventsource.Chaos{Duplicate: 0.1, Late: 0.1, LateBy: time.Second},
		}
	}
	return config
}

// summarise prints the summary, and ends the demo where something is not as it must be.
func (o options) summarise(w *trial.World, cost meter.Count) {
	w.Row("answers", "%s", w.Sender.Outcomes())
	each := float64(max(w.Watchers[0].Due(), 1))
	w.Row("a message", "%.2f requests, %.2f write and %.2f read units, by AWS's rules",
		float64(cost.Requests)/each, cost.Writes/each, cost.Reads/each)
	killed, repeated := w.Stack.Killed(), int64(0)
	for _, m := range w.Stack.Mappings() {
		repeated += m.Stats.Repeated
	}
	w.Row("killed by CHAOS=1", "%d", killed)
	if o.chaos && killed == 0 && repeated == 0 {
		w.Not("CHAOS is on, and nothing was killed or repeated")
	}
	for _, way := range w.Watchers {
		if again := way.State().Again; again > 0 && !o.chaos {
			w.Not("%s: %d messages came again, and nothing was killed", way.Name, again)
		}
	}
	w.NothingGivenUp()
	check.Must(w.Verdict())
}

// stay serves the live page of the stack, until it is interrupted.
func stay(ctx context.Context, w *trial.World) {
	page := check.Get(ui.New(ui.Options{URL: w.Stack.URL(), Operate: true}))
	server := httptest.NewUnstartedServer(page)
	if listener, err := net.Listen("tcp", "127.0.0.1:4001"); err == nil { // else another page is there
		_ = server.Listener.Close()
		server.Listener = listener
	}
	server.Start()
	w.Later(func() { server.CloseClientConnections(); server.Close(); page.Close() })
	w.Say("the stack stays at %s, and its live page at %s; interrupt to end", w.Stack.URL(),
		server.URL)
	<-ctx.Done()
}

// How the messages are sent.
const (
	clients   = 4
	batchSize = 25
)

// put sends the messages in batches, by several clients at once.
func put(ctx context.Context, sender *traffic.Sender, messages []traffic.Message) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for batch := range slices.Chunk(messages, batchSize) {
		group.Go(func() error {
			documents := traffic.Documents(batch)
			return sender.Put(ctx, documents, "advanced", "parked", "stored", "duplicate", "conflict")
		})
	}
	return group.Wait()
}
