package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/ministack"
)

const (
	// bucket and keys are where a user has put a release.
	bucket, keys = "artifacts", "streamsort/"
	// config is where the configuration files are.
	config = keys + "config/"
	// releasedStack is the stack of the file.
	releasedStack = "Released"
	// releasedMessages is how many messages go through it.
	releasedMessages = 120
)

// releases are the versions of the first deployment and of the second.
var releases = []string{"1.2.3", "1.2.4"}

// released does with a release's template and zips what a user does who has no CDK: CloudFormation
// makes the stack, changes it to the next release with other parameters, and deletes it. Messages
// come out in order meanwhile, by a consumer of the parameter.
func (t *trial) released(ctx context.Context) error {
	if err := t.readLog(ctx); err != nil { // what is in the log by now is not the new stack's
		return err
	}
	// The same server and consumer's function; messages and what comes of them are its own.
	r := &release{*t}
	for _, step := range []func(context.Context) error{r.upload, r.refuse, r.create, r.send, r.update, r.send, r.configure, r.withoutSinks, r.delete} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// release is a trial of a release.
type release struct{ trial }

// processor is Lambda's name of this machine's.
func processor() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return runtime.GOARCH
}

// upload makes the bucket, and puts both releases there: the zips as tools/release/goreleaser.yaml
// names them, and the template as its hook writes it.
func (r *release) upload(ctx context.Context) error {
	if err := r.put(ctx, "/"+bucket, nil); err != nil {
		return err
	}
	functions, err := os.ReadDir(r.binaries())
	if err != nil {
		return err
	}
	for _, f := range functions {
		zip := filepath.Join(r.folder, f.Name()+".zip")
		if err := sources.Zip(filepath.Join(r.binaries(), f.Name(), "bootstrap"), zip); err != nil {
			return err
		}
		text, err := os.ReadFile(zip)
		if err != nil {
			return err
		}
		for _, version := range releases {
			if err := r.put(ctx, fmt.Sprintf("/%s/%s%s_%s_%s.zip", bucket, keys, f.Name(), version, processor()), text); err != nil {
				return err
			}
		}
	}
	file := filepath.Join(r.folder, "released.template.json")
	write := exec.CommandContext(ctx, "go", "run", ".", "-release", releases[0], "-out", file)
	write.Dir = filepath.Join(r.root, "infra", "cdk")
	write.Env = append(os.Environ(), "CDK_VALIDATION=false") // its tests check it against CloudFormation's rules
	if err := quietly(write); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, version := range releases {
		// Releases of one state of the code differ in their version alone.
		if err := r.put(ctx, templateOf(version), bytes.ReplaceAll(text, []byte(releases[0]), []byte(version))); err != nil {
			return err
		}
	}
	return nil
}

// templateOf is where the template of a release is in the bucket.
func templateOf(version string) string {
	return fmt.Sprintf("/%s/%sstreamsort_%s.template.json", bucket, keys, version)
}

func (r *release) put(ctx context.Context, path string, content []byte) error {
	request, err := http.NewRequest(http.MethodPut, r.server.Endpoint+path, nil)
	if err != nil {
		return err
	}
	_, err = r.server.Request(ctx, "s3", request, content)
	return err
}

// parameters are a user's, whose consumers are in the bucket.
func (r *release) parameters(ctx context.Context) (map[string]string, error) {
	consumers, err := os.ReadFile(filepath.Join(r.root, "examples", "demo", "consumers.json"))
	return map[string]string{
		"ArtifactBucket": bucket, "Architecture": processor(), "Config": config, "Sinks": "arn:aws:lambda:" + ministack.Region + ":" + ministack.Account + ":function:streamsort-receiver",
		"SavedQueries": "false", // the server does not know AWS::Logs::QueryDefinition
	}, errors.Join(err, r.put(ctx, "/"+bucket+"/"+config+"consumers.json", consumers))
}

// refuse shows that a parameter out of its bounds makes nothing.
func (r *release) refuse(ctx context.Context) error {
	for name, value := range map[string]string{
		"Mode": "both", "EnqueueMemory": "64", "RetentionHours": "12", "Sinks": "my-function", "Config": "", "Events": "number",
	} {
		parameters, err := r.parameters(ctx)
		if err != nil {
			return err
		}
		parameters[name] = value
		_, err = r.server.CreateStack(ctx, releasedStack, templateOf(releases[0]), parameters)
		if err == nil || !strings.Contains(err.Error(), name) {
			return fmt.Errorf("with %s=%s it said: %w", name, value, err)
		}
	}
	fmt.Fprintln(r.out, "    six parameters out of their bounds were refused by their names")
	return nil
}

func (r *release) create(ctx context.Context) error {
	parameters, err := r.parameters(ctx)
	if err != nil {
		return err
	}
	if r.outputs, err = r.server.CreateStack(ctx, releasedStack, templateOf(releases[0]), parameters); err != nil {
		return err
	}
	if r.outputs["PutUrl"] != "" || r.outputs["ProcessFunctionName"] == "" {
		return fmt.Errorf("outputs %v: want a process, and no function URL", r.outputs)
	}
	fmt.Fprintf(r.out, "    create-stack of release %s: %d outputs, %s\n", releases[0], len(r.outputs), r.outputs["ApiUrl"])
	return nil
}

// send sends messages to queues of their own, by the function URL where there is one and else by
// the HTTP API, and waits until all are out.
func (r *release) send(ctx context.Context) error {
	address, service := r.outputs["ApiUrl"], "execute-api"
	if own := r.outputs["PutUrl"]; own != "" {
		var err error
		if address, err = r.functionURL(own); err != nil {
			return err
		}
		service = "lambda"
	}
	if err := r.generate(service + "/"); err != nil {
		return err
	}
	c := r.client(address, service)
	for batch := range slices.Chunk(r.arrivals, batchSize) {
		if err := r.trial.send(ctx, door{service, address, c.Put}, batch); err != nil {
			return err
		}
	}
	if err := r.drain(ctx); err != nil {
		return err
	}
	state := r.watcher.State()
	if len(state.Violations) > 0 {
		return errors.New(strings.Join(state.Violations, "\n"))
	}
	fmt.Fprintf(r.out, "    %d messages in (%v), %d out, in order\n", len(r.arrivals), r.outcomes, state.Messages)
	return nil
}

// generate makes messages up for queues with names that begin so, and who watches them come out.
func (r *release) generate(begins string) error {
	arrivals, err := traffic.Generate(releasedMessages)
	if err != nil {
		return err
	}
	for i, a := range arrivals {
		arrivals[i], err = traffic.NewArrival(bytes.Replace(a.Document, []byte(`"queue":"`), []byte(`"queue":"`+begins), 1))
		if err = errors.Join(err, inBase64(&arrivals[i])); err != nil {
			return err
		}
	}
	r.arrivals, r.watcher, r.outcomes, r.swept = arrivals, traffic.NewWatcher(r.out, 0, arrivals), map[string]int{}, 0
	return nil
}

// update changes the stack to the next release, with other parameters; those that are not named
// stay.
func (r *release) update(ctx context.Context) (err error) {
	changed := map[string]string{"Mode": "async", "EnqueueMemory": "1024", "FunctionUrl": "true"}
	if r.outputs, err = r.server.UpdateStack(ctx, releasedStack, templateOf(releases[1]), changed); err != nil {
		return err
	}
	// What is called is the function as it was changed: the alias is on nothing older.
	answer, err := r.lambda(ctx, http.MethodGet, "/2015-03-31/functions/"+r.outputs["EnqueueFunctionName"], nil)
	if err != nil {
		return err
	}
	var called struct {
		Configuration struct {
			MemorySize  int
			Environment struct{ Variables map[string]string }
		}
	}
	if err := json.Unmarshal(answer, &called); err != nil {
		return err
	}
	if c := called.Configuration; c.MemorySize != 1024 || c.Environment.Variables["STREAMSORT_MODE"] != "async" {
		return fmt.Errorf("what is called has %d MB and the mode %q", c.MemorySize, c.Environment.Variables["STREAMSORT_MODE"])
	}
	if r.outputs["PutUrl"] == "" {
		return fmt.Errorf("outputs %v: want a function URL", r.outputs)
	}
	fmt.Fprintf(r.out, "    update-stack to release %s, mode async, 1024 MB, a function URL\n", releases[1])
	return nil
}

// configure lets webhooks, a queue of SQS and tenants in, by parameters and files in the bucket.
// What comes in by each is delivered.
func (r *release) configure(ctx context.Context) (err error) {
	var secret struct{ ARN string }
	var queue struct{ QueueURL string }
	const key = "the sender's secret"
	users, err := r.newPool(ctx)
	if err := errors.Join(
		err,
		r.server.JSON(ctx, "secretsmanager", "secretsmanager.CreateSecret", map[string]string{"Name": "shop", "SecretString": key}, &secret),
		r.server.JSON(ctx, "sqs", "AmazonSQS.CreateQueue", map[string]string{"QueueName": "incoming"}, &queue),
	); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"webhooks.json": `{"sources":[{"name":"shop","secret":"` + secret.ARN + `","signature":{"header":"X-Signature"},"id":"id"}]}`,
		"source1.json":  `{"name":"orders","kind":"sqs","queue":"account","seq":"number"}`,
	} {
		if err := r.put(ctx, "/"+bucket+"/"+config+name, []byte(text)); err != nil {
			return err
		}
	}
	if r.outputs, err = r.server.UpdateStack(ctx, releasedStack, templateOf(releases[1]), map[string]string{
		"FunctionUrl": "false", "WebhookSecrets": secret.ARN, "Source1": "arn:aws:sqs:" + ministack.Region + ":" + ministack.Account + ":incoming",
		"TenantIssuer": users.issuer, "TenantAudience": users.client, "TenantClaim": "custom:tenant",
	}); err != nil {
		return err
	}
	const body = `{"id":"1","order":7}`
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	for _, c := range []struct {
		path, signature string
		want            int
	}{{"shop", hex.EncodeToString(mac.Sum(nil)), http.StatusOK}, {"shop", "00", http.StatusUnauthorized}, {"nobody", "00", http.StatusUnauthorized}} {
		if err := r.ask(ctx, http.MethodPost, r.outputs["ApiUrl"]+"/webhooks/"+c.path, http.Header{"X-Signature": {c.signature}}, body, c.want); err != nil {
			return err
		}
	}
	message := map[string]string{"QueueUrl": queue.QueueURL, "MessageBody": `{"account":"a","number":1}`}
	if err := r.server.JSON(ctx, "sqs", "AmazonSQS.SendMessage", message, &struct{}{}); err != nil {
		return err
	}
	if err := r.tenants(ctx, users); err != nil {
		return err
	}
	wait := progress.Wait{Total: 3, What: "messages are delivered", Patience: 2 * time.Minute, Out: r.out}
	return wait.Until(ctx, func(ctx context.Context) (delivered int, left string, err error) {
		for _, queue := range []string{"shop", "orders/a", "@acme/orders"} {
			c, err := r.consumer(ctx, queue)
			if err != nil {
				return 0, "", err
			}
			if c.Delivered == "1" {
				delivered++
			} else {
				left += fmt.Sprintf(" %s: %+v", queue, c)
			}
		}
		return delivered, left, nil
	})
}

// withoutSinks takes the consumers away: process goes with them, and nothing else.
func (r *release) withoutSinks(ctx context.Context) (err error) {
	before := len(r.outputs)
	if r.outputs, err = r.server.UpdateStack(ctx, releasedStack, templateOf(releases[1]), map[string]string{"Sinks": ""}); err != nil {
		return err
	}
	functions, err := r.lambda(ctx, http.MethodGet, "/2015-03-31/functions", nil)
	if err != nil {
		return err
	}
	if r.outputs["ProcessFunctionName"] != "" || len(r.outputs) != before-1 || bytes.Contains(functions, []byte(releasedStack+"-Process")) {
		return fmt.Errorf("without sinks there are outputs %v and functions %s", r.outputs, functions)
	}
	fmt.Fprintln(r.out, "    update-stack without sinks: process is gone")
	return nil
}

// delete takes the stack away, and looks at what stays: the tables, with the messages.
func (r *release) delete(ctx context.Context) error {
	if err := r.server.DeleteStack(ctx, releasedStack); err != nil {
		return err
	}
	functions, err := r.lambda(ctx, http.MethodGet, "/2015-03-31/functions", nil)
	if err != nil {
		return err
	}
	if bytes.Contains(functions, []byte(releasedStack+"-")) {
		return fmt.Errorf("functions are left: %s", functions)
	}
	var tables struct{ TableNames []string }
	if err := r.server.JSON(ctx, "dynamodb", "DynamoDB_20120810.ListTables", struct{}{}, &tables); err != nil {
		return err
	}
	var messages struct{ Count int }
	err = r.server.JSON(ctx, "dynamodb", "DynamoDB_20120810.Scan", map[string]string{"TableName": releasedStack + "-messages", "Select": "COUNT"}, &messages)
	if err != nil || messages.Count == 0 {
		return fmt.Errorf("of tables %v that of the messages has %d: want them to stay (%w)", tables.TableNames, messages.Count, err)
	}
	fmt.Fprintf(r.out, "    delete-stack: no function is left; %d tables stay, with %d items of messages\n", len(tables.TableNames), messages.Count)
	return nil
}
