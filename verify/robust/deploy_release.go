package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/check"
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
type release struct{ deployment }

// released does with a release's template and zips what a user does who has no CDK: CloudFormation
// makes the stack, changes it to the next release with other parameters, and deletes it. Messages
// come out in order meanwhile, by a consumer of the parameter.
func (t *deployment) released(ctx context.Context) {
	t.readLog(ctx) // what is in the log by now is not the new stack's
	// The same server and consumer's function; messages and what comes of them are its own.
	r := &release{*t}
	t.stages(ctx, []stage{
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
func (r *release) change(ctx context.Context, changed map[string]string) {
	r.outputs = check.Get(r.server.UpdateStack(ctx, releasedStack, templateOf(releases[1]), changed))
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
func (r *release) upload(ctx context.Context) {
	functions := check.Get(os.ReadDir(r.binaries()))
	files := map[string]string{"config/consumers.json": filepath.Join(r.Root, "examples", "demo",
		"consumers.json")}
	for _, f := range functions {
		zip := filepath.Join(r.built, f.Name()+".zip")
		check.Must(sources.Zip(r.program(f.Name()), zip))
		files[fmt.Sprintf("%s_%s_%s.zip", f.Name(), releases[0], processor())] = zip
	}
	template := filepath.Join(r.built, "released.template.json")
	// its tests check it against CloudFormation's rules
	environ := append(os.Environ(), "CDK_VALIDATION=false")
	check.Get(execute(ctx, r.cdk.Folder, environ, r.app(), "-release", releases[0], "-out", template))
	files["streamsort_"+releases[0]+".template.json"] = template
	r.put(ctx, "/artifacts", nil)
	for name, file := range files {
		text := check.Get(os.ReadFile(file))
		for _, version := range releases {
			// Releases of one state of the code differ in their version alone.
			if file == template {
				text = bytes.ReplaceAll(text, []byte(releases[0]), []byte(version))
			}
			r.put(ctx, artifacts+strings.Replace(name, releases[0], version, 1), text)
		}
	}
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
func (r *release) refuse(ctx context.Context) {
	for name, value := range map[string]string{
		"Mode": "both", "EnqueueMemory": "64", "RetentionHours": "12", "Sinks": "my-function", "Config": "", "Events": "number",
	} {
		changed := parameters()
		changed[name] = value
		_, err := r.server.CreateStack(ctx, releasedStack, templateOf(releases[0]), changed)
		if err == nil || !strings.Contains(err.Error(), name) {
			check.Must(fmt.Errorf("with %s=%s it said: %w", name, value, err))
		}
	}
}

func (r *release) create(ctx context.Context) {
	template := templateOf(releases[0])
	r.outputs = check.Get(r.server.CreateStack(ctx, releasedStack, template, parameters()))
	if r.outputs["PutUrl"] != "" || r.outputs["ProcessFunctionName"] == "" {
		check.Must(fmt.Errorf("outputs %v: want a process, and no function URL", r.outputs))
	}
}

// send sends messages to queues of their own, by the function URL where there is one and else by
// the HTTP API, and waits until all are out.
func (r *release) send(ctx context.Context) {
	address, service := r.outputs["ApiUrl"], "execute-api"
	if own := r.outputs["PutUrl"]; own != "" {
		address, service = r.functionURL(own), "lambda"
	}
	r.expect(traffic.Generate(releasedMessages, service+"/"), 0)
	c := r.client(address, service)
	for batch := range slices.Chunk(r.messages, batchSize) {
		r.deployment.send(ctx, door{service, address, c.Put}, batch)
	}
	r.drain(ctx)
}

// update changes the stack to the next release, with other parameters; those that are not named
// stay.
func (r *release) update(ctx context.Context) {
	changed := map[string]string{"Mode": "async", "EnqueueMemory": "1024", "FunctionUrl": "true"}
	r.change(ctx, changed)
	// What is called is the function as it was changed: the alias is on nothing older.
	answer := r.lambda(ctx, http.MethodGet, "/"+r.outputs["EnqueueFunctionName"], "")
	var called struct {
		Configuration struct {
			MemorySize  int
			Environment struct{ Variables map[string]string }
		}
	}
	check.Must(json.Unmarshal(answer, &called))
	c := called.Configuration
	if mode := c.Environment.Variables["STREAMSORT_MODE"]; c.MemorySize != 1024 || mode != "async" {
		check.Must(fmt.Errorf("what is called has %d MB and the mode %q", c.MemorySize, mode))
	}
	if r.outputs["PutUrl"] == "" {
		check.Must(fmt.Errorf("outputs %v: want a function URL", r.outputs))
	}
}

// configure lets webhooks, a queue of SQS and tenants in, by parameters and files in the bucket.
// What comes in by each is delivered.
func (r *release) configure(ctx context.Context) {
	var secret struct{ ARN string }
	var queue struct{ QueueURL string }
	const key = "the sender's secret"
	users := r.newPool(ctx)
	type object = map[string]string
	check.Must(r.server.JSON(ctx, "secretsmanager", "secretsmanager.CreateSecret",
		object{"Name": "shop", "SecretString": key}, &secret))
	input := object{"QueueName": "incoming"}
	check.Must(r.server.JSON(ctx, "sqs", "AmazonSQS.CreateQueue", input, &queue))
	for name, text := range map[string]string{
		"webhooks.json": `{"sources":[{"name":"shop","secret":"` + secret.ARN + `","signature":{"header":"X-Signature"},"id":"id"}]}`,
		"source1.json":  `{"name":"orders","kind":"sqs","queue":"account","seq":"number"}`,
	} {
		r.put(ctx, artifacts+"config/"+name, []byte(text))
	}
	r.change(ctx, map[string]string{
		"FunctionUrl": "false", "WebhookSecrets": secret.ARN, "Source1": arn("sqs", "incoming"),
		"TenantIssuer": users.issuer, "TenantAudience": users.client, "TenantClaim": "custom:tenant",
	})
	message := object{"QueueUrl": queue.QueueURL, "MessageBody": `{"account":"a","number":1}`}
	check.Must(r.server.JSON(ctx, "sqs", "AmazonSQS.SendMessage", message, &struct{}{}))
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
		r.ask(ctx, http.MethodPost, r.outputs[c.url]+c.path, c.header, c.body, c.want)
	}
	check.Must(r.wait(3, "messages are delivered").Until(ctx, r.delivered))
	for tenant, want := range map[string]int{"acme": http.StatusOK, "globex": http.StatusNotFound} {
		address := r.outputs["TenantApiUrl"] + "/messages?queue=orders"
		r.ask(ctx, http.MethodGet, address, of(tenant), "", want)
	}
}

// delivered counts what has come in by a webhook, from SQS and by a tenant, and was delivered.
func (r *release) delivered(ctx context.Context) (count int, left string, err error) {
	for _, queue := range []string{"shop", "orders/a", "@acme/orders"} {
		if c := r.standing(ctx, queue); c.Delivered == "1" {
			count++
		} else {
			left += fmt.Sprintf(" %s: %+v", queue, c)
		}
	}
	return count, left, nil
}

// withoutSinks takes the consumers away: process goes with them, and nothing else.
func (r *release) withoutSinks(ctx context.Context) {
	before := len(r.outputs)
	r.change(ctx, map[string]string{"Sinks": ""})
	r.left(ctx, releasedStack+"-Process")
	if r.outputs["ProcessFunctionName"] != "" || len(r.outputs) != before-1 {
		check.Must(fmt.Errorf("without sinks there are outputs %v", r.outputs))
	}
}

// delete takes the stack away, and looks at what stays: the tables, with the messages.
func (r *release) delete(ctx context.Context) {
	check.Must(r.server.DeleteStack(ctx, releasedStack))
	tables := r.left(ctx, releasedStack+"-")
	var messages struct{ Count int }
	all := map[string]string{"TableName": releasedStack + "-messages", "Select": "COUNT"}
	check.Must(r.server.JSON(ctx, "dynamodb", "DynamoDB_20120810.Scan", all, &messages))
	if messages.Count == 0 {
		check.Must(fmt.Errorf("of tables %v that of the messages has none: want them to stay", tables))
	}
	r.Print("%d tables stay, with %d items of messages", len(tables), messages.Count)
}

// pool is a user pool of Cognito.
type pool struct {
	issuer, client string
	tokens         map[string]string // of a user of each tenant
}

// newPool makes a user pool, with a user of each of two tenants.
func (r *release) newPool(ctx context.Context) *pool {
	const password = "Correct-horse-7"
	var made struct {
		UserPool             struct{ ID string }
		UserPoolClient       struct{ ClientID string }
		AuthenticationResult struct{ IDToken string }
	}
	call := func(action string, input map[string]any) {
		input["UserPoolId"], input["ClientId"] = made.UserPool.ID, made.UserPoolClient.ClientID
		action = "AWSCognitoIdentityProviderService." + action
		check.Must(r.server.JSON(ctx, "cognito-idp", action, input, &made))
	}
	type object = map[string]any
	call("CreateUserPool", object{
		"PoolName": "shops", "Schema": []object{{"Name": "tenant", "AttributeDataType": "String"}},
	})
	call("CreateUserPoolClient", object{
		"ClientName": "shop", "ExplicitAuthFlows": []string{"ALLOW_ADMIN_USER_PASSWORD_AUTH"},
	})
	p := &pool{tokens: map[string]string{}}
	for _, tenant := range []string{"acme", "globex"} {
		for _, c := range []struct {
			action string
			input  object
		}{
			{"AdminCreateUser", object{"UserAttributes": []object{{"Name": "custom:tenant", "Value": tenant}}}},
			{"AdminSetUserPassword", object{"Password": password, "Permanent": true}},
			{"AdminInitiateAuth", object{
				"AuthFlow":       "ADMIN_USER_PASSWORD_AUTH",
				"AuthParameters": object{"USERNAME": tenant, "PASSWORD": password},
			}},
		} {
			c.input["Username"] = tenant
			call(c.action, c.input)
		}
		p.tokens[tenant] = made.AuthenticationResult.IDToken
	}
	p.issuer = "https://cognito-idp." + ministack.Region + ".amazonaws.com/" + made.UserPool.ID
	p.client = made.UserPoolClient.ClientID
	return p
}
