package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/cdkcli"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// realMessages are payloads of real webhooks, out of order and some of them twice, beside a
// checkout that has them.
const realMessages = "../shared/data/github-webhooks.ndjson"

// stackName is the deployed stack's.
const stackName = "Streamsort"

// deployment is one, from the first build to the stack's end.
type deployment struct {
	*world
	built string // the folder of what is built and written

	server   *ministack.Server
	cdk      *cdkcli.CLI
	messages []traffic.Message
	watcher  *traffic.Watcher
	seen     map[string]bool // lines of the consumer's log that were looked at
	outputs  map[string]string
	doors    []door
	outcomes map[string]int
	inFlight int // messages that were sent while the changed stack was deployed
}

// deploy deploys the stack without an AWS account: a real `cdk bootstrap` and `cdk deploy` on
// MiniStack, with IAM enforced; messages through each way in to a consumer's Lambda function; a
// changed stack deployed over it while messages are under way; `cdk diff`, `cdk destroy`; and
// without the CDK, the template and zips of a release by CloudFormation. The messages are a file's,
// or else the real ones where they are there, or else made-up ones.
func deploy(ctx context.Context, w *world) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute) // a stack may stay in progress for ever
	defer cancel()
	t := &deployment{world: w, seen: map[string]bool{}}
	t.built = w.Folder()
	t.cdk = check.Get(cdkcli.Open(w.Root))
	t.read(os.Getenv("INPUT"))
	w.stages(ctx, []stage{
		{"building the functions, a consumer's function and the CDK app", t.build},
		{"starting MiniStack, with IAM enforced and over TLS", t.start},
		{"cdk synth, of the stack and of a changed one", t.synth},
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
	})
}

func (t *deployment) read(input string) {
	real := filepath.Join(t.Root, filepath.FromSlash(realMessages))
	if _, missing := os.Stat(real); input == "" && missing == nil {
		input = real
	}
	messages := traffic.Generate(600, "")
	if input != "" {
		messages = check.Get(traffic.Read(input))
	}
	t.expect(messages, 3)
}

// expect has messages watched that are sent next; the first batches that come out are printed.
func (t *deployment) expect(messages []traffic.Message, show int) {
	for i := range messages {
		check.Must(inBase64(&messages[i]))
	}
	t.messages, t.outcomes, t.Account = messages, map[string]int{}, traffic.NewAccount(messages...)
	t.watcher = t.Watch("receiver", traffic.Fenced, traffic.All)
	t.watcher.Out, t.watcher.Show = t.Out, show
}

// inBase64 puts a message's body into its other form. The server writes the JSON that a function is
// invoked with anew, with other spaces, so that a body of JSON would not come out as it went in.
func inBase64(m *traffic.Message) error {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(m.Document, &members); err != nil {
		return err
	}
	body, err := json.Marshal([]byte(members["body"]))
	if err != nil {
		return err
	}
	delete(members, "body")
	members["bodyBase64"] = body
	m.Document, err = json.Marshal(members)
	return err
}

// build compiles everything for this machine, since the server runs the functions' programs here.
// They are built with the flags of `make build`.
func (t *deployment) build(ctx context.Context) {
	folders := map[string]string{"receiver": "./examples/receiver"}
	functions := check.Get(os.ReadDir(filepath.Join(t.Root, "functions")))
	for _, f := range functions {
		if f.IsDir() {
			folders[f.Name()] = "./functions/" + f.Name()
		}
	}
	environ := append(os.Environ(), "GOOS=linux", "GOARCH="+runtime.GOARCH, "CGO_ENABLED=0")
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	group.Go(func() error {
		_, err := execute(ctx, t.cdk.Folder, nil, "go", "build", "-o", t.app(), ".")
		return err
	})
	for name, source := range folders {
		group.Go(func() error {
			_, err := execute(ctx, t.Root, environ, "go", "build", "-buildvcs=false", "-trimpath",
				"-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", t.program(name), source)
			return err
		})
	}
	check.Must(group.Wait())
	check.Must(sources.Zip(t.program("receiver"), t.receiverZip()))
}

func (t *deployment) app() string      { return filepath.Join(t.built, "app") }
func (t *deployment) binaries() string { return filepath.Join(t.built, "dist") }
func (t *deployment) program(name string) string {
	return filepath.Join(t.binaries(), name, "bootstrap")
}
func (t *deployment) receiverZip() string { return filepath.Join(t.built, "receiver.zip") }

func (t *deployment) start(ctx context.Context) {
	t.server = check.Get(ministack.StartStrict(ctx))
	t.Later(t.server.Close)
}

// drain waits until every message has come out of the consumer's function. The server kills the
// processes of functions that are deployed anew: their claims are over after 70 seconds, and the
// sweep takes care of the rest.
func (t *deployment) drain(ctx context.Context) {
	wait := t.wait(t.watcher.Due(), "messages are out")
	wait.Sweep = func(ctx context.Context) error {
		t.invoke(ctx, "SweepFunctionName", `{}`)
		return nil
	}
	check.Must(wait.Until(ctx, func(ctx context.Context) (int, string, error) {
		t.readLog(ctx)
		return t.watcher.State().Messages, "", nil
	}))
	messages, queues := t.Account.Count()
	t.Row("in", "%d messages to %d queues", messages, queues)
	t.Row("answers", "%v", t.outcomes)
}

// log returns the lines that a function has logged.
func (t *deployment) log(ctx context.Context, function string) (lines []string) {
	input := map[string]string{"logGroupName": "/aws/lambda/" + function}
	for {
		var page struct {
			Events    []struct{ Message string }
			NextToken string
		}
		err := t.server.JSON(ctx, "logs", "Logs_20140328.FilterLogEvents", input, &page)
		if ministack.NoResource(err) {
			return nil // Lambda makes the group with the first line
		}
		check.Must(err)
		for _, e := range page.Events {
			lines = append(lines, e.Message)
		}
		if input["nextToken"] = page.NextToken; page.NextToken == "" {
			return lines
		}
	}
}

// readLog hands the lines of the consumer's log that are new to the watcher, in the order in which
// they were written: a line begins with its time.
func (t *deployment) readLog(ctx context.Context) {
	for _, line := range slices.Sorted(slices.Values(t.log(ctx, "streamsort-receiver"))) {
		if !t.seen[line] {
			t.seen[line] = true
			t.watcher.Line(line)
		}
	}
}

// operate asks the delivery function what an operator would, directly.
func (t *deployment) operate(ctx context.Context) {
	queue := t.messages[0].Queue
	c := t.standing(ctx, queue)
	if c.Lag != "0" {
		check.Must(fmt.Errorf("queue %s: %+v", queue, c))
	}
	t.Print("%s has %s of %s in %s", c.Consumer, c.Delivered, c.Position, queue)
}

// standing is how far a consumer is in a queue.
type standing struct {
	Consumer                 string
	Delivered, Position, Lag json.Number
}

// standing asks how far the consumer of a queue is: nowhere before its first message.
func (t *deployment) standing(ctx context.Context, queue string) standing {
	var status struct{ Consumers [1]standing }
	check.Must(json.Unmarshal(t.invoke(ctx, "DeliveryFunctionName",
		fmt.Sprintf(`{"operation":"status","queue":%q}`, queue)), &status))
	return status.Consumers[0]
}

// shopMessages is how many messages go through the user's own stack.
const shopMessages = 20

// shop deploys examples/shop, a CDK app of a user's own in a module of its own, and looks that its
// function gets every message in order. Its queue gets none: the server asks for a right to
// sqs:SendMessageBatch, an action that IAM does not have.
func (t *deployment) shop(ctx context.Context) {
	folder, app := filepath.Join(t.Root, "examples", "shop"), filepath.Join(t.built, "shop")
	check.Get(execute(ctx, folder, nil, "go", "build", "-o", app, "."))
	assembly := t.assembly("shop")
	check.Must(t.runCDK(ctx, folder, "synth", "--quiet", "--app", app, "--output", assembly,
		"-c", "architecture="+runtime.GOARCH, "-c", "try=true", "-c",
		"binaries="+filepath.Join(t.built, "shop-dist")))
	outputs := t.deployStack(ctx, assembly, "Shop")
	orders := door{name: "Shop", put: t.client(outputs["OrdersUrl"], "execute-api").Put}
	for seq := shopMessages; seq > 0; seq-- {
		document := fmt.Appendf(nil, `{"queue":"shop","seq":%d,"body":{"order":%d}}`, seq, seq)
		t.send(ctx, orders, []traffic.Message{{Document: document}})
	}
	check.Must(t.wait(shopMessages, "messages are booked").Until(ctx,
		func(ctx context.Context) (int, string, error) {
			return t.booked(ctx, outputs["BooksName"]), "", nil
		}))
	t.Print("%d messages, backwards, came to its function in order", shopMessages)
	check.Must(t.runCDK(ctx, "", "destroy", "--force", "--app", assembly))
}

// booked is how many messages the shop's function has logged. They must be in order.
func (t *deployment) booked(ctx context.Context, function string) (last int) {
	for _, text := range t.log(ctx, function) {
		var line struct {
			Message string
			Seq     int
		}
		at := strings.Index(text, "{")
		if at < 0 || json.Unmarshal([]byte(text[at:]), &line) != nil || line.Message != "booked" {
			continue
		}
		if last++; line.Seq != last {
			check.Must(fmt.Errorf("message %d came as number %d", line.Seq, last))
		}
	}
	return last
}
