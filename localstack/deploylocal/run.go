package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/internal/dev/cdkcli"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// realMessages are payloads of real webhooks, out of order and some of them twice, beside a
// checkout that has them.
const realMessages = "../shared/data/github-webhooks.ndjson"

// stackName is the deployed stack's.
const stackName = "Streamsort"

// trial is one run, from the first build to the stack's end.
type trial struct {
	out    io.Writer
	root   string // of the project
	folder string // of what is built and written, .build/deploylocal
	began  time.Time

	server   *ministack.Server
	cdk      *cdkcli.CLI
	cdkLog   *os.File
	arrivals []traffic.Arrival
	watcher  *traffic.Watcher
	seen     map[string]bool // lines of the consumer's log that were looked at
	outputs  map[string]string
	doors    []door
	outcomes map[string]int
	inFlight int // messages that were sent while the changed stack was deployed
	swept    int // sweeps called by hand
}

// run runs the trial with messages of a file, or else with the real ones where they are there, or
// else with made-up ones.
func run(ctx context.Context, input string, out io.Writer) error {
	root, err := localdb.Root()
	if err != nil {
		return err
	}
	t := &trial{
		out: out, root: root, folder: filepath.Join(root, ".build", "deploylocal"), began: time.Now(),
		seen: map[string]bool{}, outcomes: map[string]int{},
	}
	if err := os.MkdirAll(t.folder, 0o755); err != nil {
		return err
	}
	if t.cdk, err = cdkcli.Open(root); err != nil {
		return err
	}
	if t.cdkLog, err = os.Create(filepath.Join(t.folder, "cdk.log")); err != nil {
		return err
	}
	defer t.cdkLog.Close()
	if err := t.read(input); err != nil {
		return err
	}
	defer func() {
		if t.server != nil {
			t.server.Close()
		}
	}()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"building the functions, a consumer's function and the CDK app", t.build},
		{"cdk synth, of the stack and of a changed one", t.synth},
		{"starting MiniStack, with IAM enforced and over TLS", t.start},
		{"what is said where something is missing", t.refusals},
		{"cdk bootstrap", t.bootstrap},
		{"a consumer's Lambda function", t.deployReceiver},
		{"cdk deploy", t.deploy},
		{"who is not signed is not let in", t.strangers},
		{"sending the first half: HTTP API, REST API, function URL, direct invoke", t.sendFirst},
		{"cdk deploy of the changed stack, while the second half is sent", t.update},
		{"waiting until everything is out, in order", t.drain},
		{"what operators see", t.operate},
		{"the alias of a changed function", t.versions},
		{"cdk diff", t.diff},
		{"a user's own CDK app, examples/shop", t.shop},
		{"cdk destroy", t.destroy},
		{"without the CDK: a release's template and zips, by CloudFormation", t.released},
	} {
		began := time.Now()
		fmt.Fprintf(out, "==> %s\n", step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Fprintf(out, "    %.1f s\n", time.Since(began).Seconds())
	}
	return t.summarise()
}

func (t *trial) read(input string) (err error) {
	real := filepath.Join(t.root, filepath.FromSlash(realMessages))
	if _, missing := os.Stat(real); input == "" && missing == nil {
		input = real
	}
	if input == "" {
		t.arrivals, err = traffic.Generate(600)
	} else {
		t.arrivals, err = traffic.Read(input)
	}
	for i := range t.arrivals {
		err = errors.Join(err, inBase64(&t.arrivals[i]))
	}
	t.watcher = traffic.NewWatcher(t.out, 3, t.arrivals)
	return err
}

// inBase64 puts a message's body into its other form. The server writes the JSON that a function is
// invoked with anew, with other spaces, so that a body of JSON would not come out as it went in.
func inBase64(a *traffic.Arrival) error {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(a.Document, &members); err != nil {
		return err
	}
	body, err := json.Marshal([]byte(members["body"]))
	if err != nil {
		return err
	}
	delete(members, "body")
	members["bodyBase64"] = body
	a.Document, err = json.Marshal(members)
	return err
}

func (t *trial) start(ctx context.Context) (err error) {
	t.server, err = ministack.StartStrict(ctx)
	return err
}

// summarise prints what became of everything; the error says what must not be.
func (t *trial) summarise() error {
	state := t.watcher.State()
	lost := t.watcher.Distinct() - state.Messages
	for _, row := range []struct{ name, value string }{
		{"in", fmt.Sprintf("%d messages to %d queues, %d of them while the stack was changed", len(t.arrivals), t.watcher.Queues(), t.inFlight)},
		{"answers", fmt.Sprint(t.outcomes)},
		{"out", fmt.Sprintf("%d messages, in %d batches, %d of them again", state.Messages, state.Batches, state.Repeated)},
		{"order violations", fmt.Sprint(len(state.Violations))},
		{"lost", fmt.Sprint(lost)},
		{"sweeps called", fmt.Sprintf("%d by hand", t.swept)},
		{"seconds", fmt.Sprintf("%.0f", time.Since(t.began).Seconds())},
	} {
		fmt.Fprintf(t.out, "    %-19s %s\n", row.name, row.value)
	}
	var errs []error
	for _, violation := range state.Violations {
		errs = append(errs, errors.New(violation))
	}
	if lost != 0 {
		errs = append(errs, fmt.Errorf("%d messages are lost", lost))
	}
	if len(errs) == 0 {
		fmt.Fprintln(t.out, "==> deployed, changed and destroyed; everything came out in order, unchanged, and nothing was lost")
	}
	return errors.Join(errs...)
}
