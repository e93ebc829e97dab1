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
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/ministack"
)

const (
	// artifacts is where a user has put a release: a bucket, and what the keys begin with.
	artifacts = "/artifacts/streamsort/"
	// releasedStack is the stack of the file.
	releasedStack = "Released"
	// releasedMessages is how many messages go through it.
	releasedMessages = 120
)

// releases are the versions of the first deployment and of the second.
var releases = []string{"1.2.3", "1.2.4"}

// release is a trial of a release.
type release struct{ trial }

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

// processor is Lambda's name of this machine's.
func processor() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return runtime.GOARCH
}

// upload makes the bucket, and puts both releases there: the zips as tools/release/goreleaser.yaml
// names them, and the template as its hook writes it; and the consumers' file.
func (r *release) upload(ctx context.Context) error {
	functions, err := os.ReadDir(r.binaries())
	if err != nil {
		return err
	}
	files := map[string]string{"config/consumers.json": filepath.Join(r.root, "examples", "demo", "consumers.json")}
	for _, f := range functions {
		zip := filepath.Join(r.built, f.Name()+".zip")
		if err := sources.Zip(r.program(f.Name()), zip); err != nil {
			return err
		}
		files[fmt.Sprintf("%s_%s_%s.zip", f.Name(), releases[0], processor())] = zip
	}
	template := filepath.Join(r.built, "released.template.json")
	environ := append(os.Environ(), "CDK_VALIDATION=false") // its tests check it against CloudFormation's rules
	if _, err := execute(ctx, r.cdk.Folder, environ, r.app(), "-release", releases[0], "-out", template); err != nil {
		return err
	}
	files["streamsort_"+releases[0]+".template.json"] = template
	if err := r.put(ctx, "/artifacts", nil); err != nil {
		return err
	}
	for name, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, version := range releases {
			// Releases of one state of the code differ in their version alone.
			if file == template {
				text = bytes.ReplaceAll(text, []byte(releases[0]), []byte(version))
			}
			if err := r.put(ctx, artifacts+strings.Replace(name, releases[0], version, 1), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// templateOf is where the template of a release is in the bucket.
func templateOf(version string) string {
	return artifacts + "streamsort_" + version + ".template.json"
}

// parameters are a user's, whose consumers are in the bucket.
func parameters() map[string]string {
	return map[string]string{
		"ArtifactBucket": "artifacts", "Architecture": processor(), "Config": "streamsort/config/",
		"Sinks":        "arn:aws:lambda:" + ministack.Region + ":" + ministack.Account + ":function:streamsort-receiver",
		"SavedQueries": "false", // the server does not know AWS::Logs::QueryDefinition
	}
}

// refuse shows that a parameter out of its bounds makes nothing.
func (r *release) refuse(ctx context.Context) error {
	for name, value := range map[string]string{
		"Mode": "both", "EnqueueMemory": "64", "RetentionHours": "12", "Sinks": "my-function", "Config": "", "Events": "number",
	} {
		changed := parameters()
		changed[name] = value
		_, err := r.server.CreateStack(ctx, releasedStack, templateOf(releases[0]), changed)
		if err == nil || !strings.Contains(err.Error(), name) {
			return fmt.Errorf("with %s=%s it said: %w", name, value, err)
		}
	}
	r.print("six parameters out of their bounds were refused by their names")
	return nil
}

func (r *release) create(ctx context.Context) (err error) {
	if r.outputs, err = r.server.CreateStack(ctx, releasedStack, templateOf(releases[0]), parameters()); err != nil {
		return err
	}
	if r.outputs["PutUrl"] != "" || r.outputs["ProcessFunctionName"] == "" {
		return fmt.Errorf("outputs %v: want a process, and no function URL", r.outputs)
	}
	r.print("create-stack of release %s: %d outputs, %s", releases[0], len(r.outputs), r.outputs["ApiUrl"])
	return nil
}

// send sends messages to queues of their own, by the function URL where there is one and else by
// the HTTP API, and waits until all are out.
func (r *release) send(ctx context.Context) error {
	address, service := r.outputs["ApiUrl"], "execute-api"
	if own := r.outputs["PutUrl"]; own != "" {
		address, service = r.functionURL(own), "lambda"
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
	r.check()
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
	r.arrivals, r.watcher, r.outcomes = arrivals, traffic.NewWatcher(r.out, 0, arrivals), map[string]int{}
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
	answer, err := r.lambda(ctx, http.MethodGet, "/"+r.outputs["EnqueueFunctionName"], "")
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
	r.print("update-stack to release %s, mode async, 1024 MB, a function URL", releases[1])
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
		if err := r.put(ctx, artifacts+"config/"+name, []byte(text)); err != nil {
			return err
		}
	}
	if r.outputs, err = r.server.UpdateStack(ctx, releasedStack, templateOf(releases[1]), map[string]string{
		"FunctionUrl": "false", "WebhookSecrets": secret.ARN, "Source1": "arn:aws:sqs:" + ministack.Region + ":" + ministack.Account + ":incoming",
		"TenantIssuer": users.issuer, "TenantAudience": users.client, "TenantClaim": "custom:tenant",
	}); err != nil {
		return err
	}
	message := map[string]string{"QueueUrl": queue.QueueURL, "MessageBody": `{"account":"a","number":1}`}
	if err := r.server.JSON(ctx, "sqs", "AmazonSQS.SendMessage", message, &struct{}{}); err != nil {
		return err
	}
	const event, order = `{"id":"1","order":7}`, `{"queue":"orders","seq":1,"body":{"total":12}}`
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(event))
	signed := func(signature string) http.Header { return http.Header{"X-Signature": {signature}} }
	of := func(tenant string) http.Header {
		return http.Header{"Authorization": {"Bearer " + users.tokens[tenant]}}
	}
	for _, c := range []struct {
		method, url, path string
		header            http.Header
		body              string
		want              int
	}{
		{http.MethodPost, "ApiUrl", "/webhooks/shop", signed(hex.EncodeToString(mac.Sum(nil))), event, http.StatusOK},
		{http.MethodPost, "ApiUrl", "/webhooks/shop", signed("00"), event, http.StatusUnauthorized},
		{http.MethodPost, "ApiUrl", "/webhooks/nobody", signed("00"), event, http.StatusUnauthorized},
		{http.MethodPost, "TenantApiUrl", "/messages", nil, order, http.StatusUnauthorized},
		{http.MethodPost, "TenantApiUrl", "/messages", of("acme"), order, http.StatusOK},
		{http.MethodGet, "TenantApiUrl", "/messages?queue=orders", of("acme"), "", http.StatusOK},
		{http.MethodGet, "TenantApiUrl", "/messages?queue=orders", of("globex"), "", http.StatusNotFound},
	} {
		if err := r.ask(ctx, c.method, r.outputs[c.url]+c.path, c.header, c.body, c.want); err != nil {
			return err
		}
	}
	wait := progress.Wait{Total: 3, What: "messages are delivered", Patience: claimPatience, Out: r.out}
	err = wait.Until(ctx, func(ctx context.Context) (delivered int, left string, err error) {
		for _, queue := range []string{"shop", "orders/a", "@acme/orders"} {
			switch c, err := r.standing(ctx, queue); {
			case err != nil:
				return 0, "", err
			case c.Delivered == "1":
				delivered++
			default:
				left += fmt.Sprintf(" %s: %+v", queue, c)
			}
		}
		return delivered, left, nil
	})
	r.print("update-stack with webhooks, a queue of SQS and tenants: what came by each is delivered, and no other")
	return err
}

// withoutSinks takes the consumers away: process goes with them, and nothing else.
func (r *release) withoutSinks(ctx context.Context) (err error) {
	before := len(r.outputs)
	if r.outputs, err = r.server.UpdateStack(ctx, releasedStack, templateOf(releases[1]), map[string]string{"Sinks": ""}); err != nil {
		return err
	}
	if _, err := r.left(ctx, releasedStack+"-Process"); err != nil || r.outputs["ProcessFunctionName"] != "" || len(r.outputs) != before-1 {
		return fmt.Errorf("without sinks there are outputs %v (%w)", r.outputs, err)
	}
	r.print("update-stack without sinks: process is gone")
	return nil
}

// delete takes the stack away, and looks at what stays: the tables, with the messages.
func (r *release) delete(ctx context.Context) error {
	if err := r.server.DeleteStack(ctx, releasedStack); err != nil {
		return err
	}
	tables, err := r.left(ctx, releasedStack+"-")
	if err != nil {
		return err
	}
	var messages struct{ Count int }
	err = r.server.JSON(ctx, "dynamodb", "DynamoDB_20120810.Scan", map[string]string{"TableName": releasedStack + "-messages", "Select": "COUNT"}, &messages)
	if err != nil || messages.Count == 0 {
		return fmt.Errorf("of tables %v that of the messages has %d: want them to stay (%w)", tables, messages.Count, err)
	}
	r.print("delete-stack: no function is left; %d tables stay, with %d items of messages", len(tables), messages.Count)
	return nil
}
