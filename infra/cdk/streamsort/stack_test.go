package streamsort

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestMain keeps the CDK from checking each template against CloudFormation's rules, which takes
// longer than to write them all: infra/cdk has that done.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "streamsort-cdk-")
	for _, arch := range []Architecture{ARM64, AMD64} {
		binaries[arch] = filepath.Join(folder, string(arch))
		err = errors.Join(err, fakebin.Write(binaries[arch], string(arch)))
	}
	if err = errors.Join(err, os.Setenv("CDK_VALIDATION", "false")); err != nil {
		panic(err)
	}
	jsii.Close() // jsii has the environment of when it was initialised; this begins anew
	code := m.Run()
	jsii.Close()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// binaries are folders with the functions' programs, by the processor that these are for.
var binaries = map[Architecture]string{}

// object is a JSON object, or a CloudFormation function, of a template.
type object = map[string]any

type template struct{ Resources, Outputs map[string]object }

// The configurations that the tests look at, each synthesised once.
var (
	defaults = sync.OnceValue(func() template { return synthesize("Streamsort", &Props{}) })
	changed  = sync.OnceValue(func() template { return synthesize("Orders", changedProps()) })
	// other has what changedProps cannot have beside the rest: a key of its own, and a function
	// URL.
	other = sync.OnceValue(func() template {
		return synthesize("Streamsort", &Props{
			EncryptionKey: NewKey, FunctionURL: true, Shift: "AllAtOnce", Tracing: new(true),
		})
	})
)

// changedProps differ from the defaults in every property.
func changedProps() *Props {
	return &Props{
		Tables: "in-", Tombstone: 2 * time.Hour, Removal: Destroy,
		Functions: map[string]FunctionProps{
			"enqueue":  {Memory: 128, Timeout: 10 * time.Second, Concurrency: 11},
			"sort":     {Memory: 256, Timeout: 20 * time.Second, Concurrency: 12, BatchSize: 10, BatchWindow: new(2 * time.Second), Parallelization: 3},
			"sweep":    {Memory: 1024, Concurrency: 1},
			"process":  {Memory: 192, Timeout: 40 * time.Second, Concurrency: 14, BatchSize: 20, BatchWindow: new(time.Second), Parallelization: 2},
			"slow":     {Concurrency: 19},
			"delivery": {Memory: 320, Timeout: 5 * time.Second, Concurrency: 15},
			"ack":      {Memory: 384, Timeout: 6 * time.Second, Concurrency: 16, BatchSize: 30, BatchWindow: new(3 * time.Second), Parallelization: 4},
			"webhook":  {Memory: 448, Timeout: 7 * time.Second, Concurrency: 18},
		},
		FirstSeq: new(int64(0)), Policy: cursor.PolicySkip, GapAfter: 90 * time.Second, MaxAhead: 50,
		Settle: new(time.Minute), Late: cursor.LateDrop,
		Mode: cursor.ModeAsync, Retention: new(time.Duration(0)),
		Events: `{"queue":"repository.full_name","seq":"sequence","id":"delivery.id"}`,
		Consumers: []Consumer{
			{Name: "billing", Sink: &Sink{Kind: "sqs", ARN: new("arn:aws:sqs:eu-west-1:123456789012:billing.fifo"), MaxEntries: 1}},
			{
				Name: "search", Start: "latest", Prefix: "shop/", MaxMessages: 10, MaxBytes: 1000, MaxAttempts: 3, Track: "20m",
				Circuit: &Circuit{Probes: []string{"10s"}, WakeRate: 200},
				Eager:   true,
				Sink:    &Sink{Kind: "lambda", ARN: awscdk.Fn_ImportValue(jsii.String("SearchArn")), MaxBytes: 2000},
			},
			{Name: "books"},
			{Name: "archive", Sink: &Sink{Kind: "s3"}},
			{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}, Format: "cloudevents"}},
		},
		HTTPAllow: "10.1.0.0/16", HTTPDeny: "2600:1f18:1::/48",
		Webhooks: []Webhook{
			{
				Name: "github", Preset: "github", Challenge: "cloudevents", Secret: new("arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/github"),
				Queue: "repository.full_name | 'other'", Attributes: map[string]string{"event": "@header(X-GitHub-Event)"},
				Key: "updated_at,action", KeyType: "time,rank(opened|*|closed)", Prev: "before.id",
			},
			{
				Name: "bank", Secret: awscdk.Fn_ImportValue(jsii.String("BankSecretArn")), SecretKey: new("arn:aws:kms:eu-west-1:123456789012:key/1234-abcd"),
				Challenge: "hub", VerifyToken: awscdk.Fn_ImportValue(jsii.String("BankTokenArn")), Tolerance: "1m",
				Signature: &WebhookSignature{
					Header: "X-Sig", Prefix: "v0=", Encoding: "base64", KeyEncoding: "hex", IDHeader: "X-Id",
					TimestampHeader: "X-Time", Template: "{id}.{timestamp}.{body}",
				},
				Queue: "@header(X-Account)", Prefix: new(""), Seq: "number", ID: "event.id", MaxBody: 1000,
			},
		},
		WebhookRate:   30,
		SweepInterval: time.Minute, FullSweepEvery: 6 * time.Hour, SweepSegments: 2,
		EventBus: new(""), AnnounceTopic: new("arn:aws:sns:eu-west-1:123456789012:people"),
		PageTopic:        new("arn:aws:sns:eu-west-1:123456789012:pager"),
		VPC:              VPC{"subnet-1," + *awscdk.Fn_ImportValue(jsii.String("Subnet")), "sg-1"},
		AnnounceFunction: new("arn:aws:lambda:eu-west-1:123456789012:function:people"),
		SettleWithin:     3 * time.Hour,
		LagAfter:         time.Hour, SavedQueries: new(false), DeleteDelivered: true,
		KnownQueues: true, SlowShare: 7,
		MaxReads: 30_000, MaxWrites: 15_000,
		TenantIssuer: "https://tokens.example/pool", TenantAudience: "shop,desk",
		TenantClaim:        "custom:tenant",
		TenantProduceScope: "streamsort/produce", TenantOperateScope: "streamsort/operate",
		QuotasFile: "testdata/quotas.json", APIRate: 20, LogRetentionDays: 365, LogSuccesses: new(100),
		LogQueue: "octo/repo", LogUntil: "2026-01-02T15:04:05Z", Architecture: AMD64,
		Shift: "Canary10Percent5Minutes", EncryptionKey: theKey,
	}
}

// synthesize panics on an error: it runs once, for whichever test is first.
func synthesize(id string, props *Props) template {
	props.Binaries = binaries[cmp.Or(props.Architecture, ARM64)]
	stack, err := NewStack(awscdk.NewApp(nil), id, props)
	if err != nil {
		panic(err)
	}
	return written(stack.Stack)
}

// written is a stack as it is written.
func written(stack awscdk.Stack) (made template) {
	text, err := json.Marshal(assertions.Template_FromStack(stack, nil).ToJSON())
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		panic(err)
	}
	return made
}

// properties are a resource's, after a look at its type.
func (t template) properties(tb testing.TB, id, typ string) object {
	tb.Helper()
	resource := t.Resources[id]
	check.Need(tb, resource["Type"] == typ, "%s is of type %v, want %s", id, resource["Type"], typ)
	properties, _ := resource["Properties"].(object)
	return properties
}

// diff compares JSON values; numbers may be written as Go's integers.
func diff(tb testing.TB, what string, want, got any) {
	tb.Helper()
	text := check.Get(json.Marshal(want))
	var plain any
	check.OK(tb, json.Unmarshal(text, &plain))
	check.Is(tb, gocmp.Diff(plain, got), "", what)
}

func TestErrorMakesNothing(t *testing.T) {
	app := awscdk.NewApp(nil)
	stack, err := NewStack(app, "Streamsort", &Props{MaxAhead: -1})
	check.That(t, err != nil && stack == nil, "stack %v, error %v", stack, err)
	for _, child := range *app.Node().Children() {
		check.That(t, *child.Node().Id() != "Streamsort", "the stack is there")
	}
}

var updatePinned = flag.Bool("update", false, "write the files of testdata that pin resources anew")

// versionHash ends a version's logical id: it is another for each code and each configuration.
var versionHash = regexp.MustCompile(`(FunctionCurrentVersion)[0-9A-Za-z]+`)

// pinned compares what is made with a file of testdata, line by line.
func pinned(t *testing.T, file, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\\u003c", "<")
	if *updatePinned {
		check.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := check.Get(os.ReadFile(file))
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s; if that is meant, write it anew with: go test ./streamsort -run %s -update (- want, + got)\n%s", file, t.Name(), diff)
	}
}

// differences are the resources and outputs that a template has otherwise than another, or beside
// it, without the hashes of their code.
func differences(t *testing.T, made, base template) string {
	t.Helper()
	var text strings.Builder
	line := func(id string, value any) {
		text.WriteString(versionHash.ReplaceAllString(id+"\n  "+asText(t, value)+"\n", "$1"))
	}
	for _, id := range slices.Sorted(maps.Keys(made.Resources)) {
		resource := maps.Clone(made.Resources[id])
		if properties, is := resource["Properties"].(object); is &&
			resource["Type"] == "AWS::Lambda::Function" {
			properties = maps.Clone(properties)
			delete(properties, "Code")
			resource["Properties"] = properties
		}
		if !gocmp.Equal(made.Resources[id], base.Resources[id]) {
			line(id, resource)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(made.Outputs)) {
		if !gocmp.Equal(made.Outputs[id], base.Outputs[id]) {
			line("output "+id, made.Outputs[id])
		}
	}
	return text.String()
}

// TestChanged pins what properties make otherwise than the defaults, which the golden templates of
// infra/cdk pin.
func TestChanged(t *testing.T) {
	pinned(t, "testdata/changed.txt", differences(t, changed(), defaults()))
	pinned(t, "testdata/other.txt", differences(t, other(), defaults()))
}

// What Build builds are all the functions that there are.
func TestFunctionNames(t *testing.T) {
	entries := check.Get(os.ReadDir("../../../functions"))
	var want []string
	for _, e := range entries {
		if e.IsDir() {
			want = append(want, e.Name())
		}
	}
	check.Is(t, gocmp.Diff(want, slices.Sorted(slices.Values(functionNames))), "")
}

// A package that does not compile is named, with what the go command said. examples/shop builds
// those that do.
func TestBuildReportsWhatFails(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n",
		"bad/main.go": "package main\n\nfunc main() { nothing() }\n"} {
		check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		check.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	t.Chdir(folder)
	err := Build(filepath.Join(folder, "dist"), ARM64, "./bad")
	for _, want := range []string{"go build ./bad: ", "undefined: nothing",
		"go build github.com/streamsort/streamsort/functions/webhook: "} {
		check.Says(t, err, want)
	}
}
