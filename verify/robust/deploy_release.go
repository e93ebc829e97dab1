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
	return t.stages(ctx, []stage{
		{"its template and zips are in a bucket", r.upload},
		{"parameters out of their bounds are refused by their names", r.refuse},
		{"create-stack", r.create},
		{"messages by the HTTP API", r.send},
		{"update-stack to the next release, with the mode async, 1024 MB and a function URL", r.update},
		{"messages by the function URL", r.send},
		{"update-stack with webhooks, a queue of SQS and tenants", r.configure},
		{"update-stack without sinks", r.withoutSinks},
		{"delete-stack", r.delete},
	})
}

// change updates the stack to the second release, with other parameters.
func (r *release) change(ctx context.Context, changed map[string]string) (err error) {
	r.outputs, err = r.server.UpdateStack(ctx, releasedStack, templateOf(releases[1]), changed)
	return err
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
		"Sinks":        arn("lambda", "function:streamsort-receiver"),
		"SavedQueries": "false", // the server does not know AWS::Logs::QueryDefinition
	}
}

func arn(service, name string) string {
	return "arn:aws:" + service + ":" + ministack.Region + ":" + ministack.Account + ":" + name
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
	return nil
}

func (r *release) create(ctx context.Context) (err error) {
	if r.outputs, err = r.server.CreateStack(ctx, releasedStack, templateOf(releases[0]), parameters()); err != nil {
		return err
	}
	if r.outputs["PutUrl"] != "" || r.outputs["ProcessFunctionName"] == "" {
		return fmt.Errorf("outputs %v: want a process, and no function URL", r.outputs)
	}
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
func (r *release) update(ctx context.Context) error {
	changed := map[string]string{"Mode": "async", "EnqueueMemory": "1024", "FunctionUrl": "true"}
	if err := r.change(ctx, changed); err != nil {
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
	c := called.Configuration
	if mode := c.Environment.Variables["STREAMSORT_MODE"]; c.MemorySize != 1024 || mode != "async" {
		return fmt.Errorf("what is called has %d MB and the mode %q", c.MemorySize, mode)
	}
	if r.outputs["PutUrl"] == "" {
		return fmt.Errorf("outputs %v: want a function URL", r.outputs)
	}
	return nil
}

// configure lets webhooks, a queue of SQS and tenants in, by parameters and files in the bucket.
// What comes in by each is delivered.
func (r *release) configure(ctx context.Context) error {
	var secret struct{ ARN string }
	var queue struct{ QueueURL string }
	const key = "the sender's secret"
	users, err := r.newPool(ctx)
	type object = map[string]string
	if err := errors.Join(err,
		r.server.JSON(ctx, "secretsmanager", "secretsmanager.CreateSecret", object{"Name": "shop", "SecretString": key}, &secret),
		r.server.JSON(ctx, "sqs", "AmazonSQS.CreateQueue", object{"QueueName": "incoming"}, &queue),
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
	if err := r.change(ctx, map[string]string{
		"FunctionUrl": "false", "WebhookSecrets": secret.ARN, "Source1": arn("sqs", "incoming"),
		"TenantIssuer": users.issuer, "TenantAudience": users.client, "TenantClaim": "custom:tenant",
	}); err != nil {
		return err
	}
	message := object{"QueueUrl": queue.QueueURL, "MessageBody": `{"account":"a","number":1}`}
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
		url, path string
		header    http.Header
		body      string
		want      int
	}{
		{"ApiUrl", "/webhooks/shop", signed(hex.EncodeToString(mac.Sum(nil))), event, http.StatusOK},
		{"ApiUrl", "/webhooks/shop", signed("00"), event, http.StatusUnauthorized},
		{"ApiUrl", "/webhooks/nobody", signed("00"), event, http.StatusUnauthorized},
		{"TenantApiUrl", "/messages", nil, order, http.StatusUnauthorized},
		{"TenantApiUrl", "/messages", of("acme"), order, http.StatusAccepted},
	} {
		if err := r.ask(ctx, http.MethodPost, r.outputs[c.url]+c.path, c.header, c.body, c.want); err != nil {
			return err
		}
	}
	if err := r.wait(3, "messages are delivered").Until(ctx, r.delivered); err != nil {
		return err
	}
	for tenant, want := range map[string]int{"acme": http.StatusOK, "globex": http.StatusNotFound} {
		address := r.outputs["TenantApiUrl"] + "/messages?queue=orders"
		if err := r.ask(ctx, http.MethodGet, address, of(tenant), "", want); err != nil {
			return err
		}
	}
	return nil
}

// delivered counts what has come in by a webhook, from SQS and by a tenant, and was delivered.
func (r *release) delivered(ctx context.Context) (count int, left string, err error) {
	for _, queue := range []string{"shop", "orders/a", "@acme/orders"} {
		switch c, err := r.standing(ctx, queue); {
		case err != nil:
			return 0, "", err
		case c.Delivered == "1":
			count++
		default:
			left += fmt.Sprintf(" %s: %+v", queue, c)
		}
	}
	return count, left, nil
}

// withoutSinks takes the consumers away: process goes with them, and nothing else.
func (r *release) withoutSinks(ctx context.Context) error {
	before := len(r.outputs)
	if err := r.change(ctx, map[string]string{"Sinks": ""}); err != nil {
		return err
	}
	_, err := r.left(ctx, releasedStack+"-Process")
	if err != nil || r.outputs["ProcessFunctionName"] != "" || len(r.outputs) != before-1 {
		return fmt.Errorf("without sinks there are outputs %v (%w)", r.outputs, err)
	}
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
	r.print("%d tables stay, with %d items of messages", len(tables), messages.Count)
	return nil
}
