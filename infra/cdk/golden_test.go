package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"
	"github.com/wI2L/jsondiff"

	"github.com/streamsort/streamsort/infra/cdk/streamsort"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

var update = flag.Bool("update", false, "write the golden template and its patches anew")

// The templates that the app writes, save for the functions' asset hashes: goldenFile by default,
// whole; the others are patches of it, or of one another, as template.ReadFile reads them. The
// local stack runs them all.
const (
	goldenFile = "../../localstack/streamsort.template.json"
	// process, for consumers that the local stack gets
	processFile  = "../../localstack/streamsort.process.patch.json"
	demoFile     = "../../examples/demo/streamsort.patch.json"       // the consumers of the demo
	pongFile     = "../../examples/pingpong/streamsort.patch.json"   // that of the game of pingpong
	soakFile     = "../../verify/robust/soak/streamsort.patch.json"  // those of the soak
	hooksFile    = "../../verify/robust/hooks/streamsort.patch.json" // one whose queues have endpoints
	tenantsFile  = "../../localstack/testdata/tenants.patch.json"
	urlFile      = "../../localstack/testdata/url.patch.json"      // a function URL
	webhooksFile = "../../localstack/testdata/webhooks.patch.json" // senders that sign
	sourcesFile  = "../../localstack/testdata/sources.patch.json"  // sources of AWS
)

func TestGolden(t *testing.T) {
	for _, golden := range []struct {
		file, base string // the base as seen from the file's folder; it stands above what patches it
		context    map[string]any
		add        func(*streamsort.Stack) error // what a caller's own app adds; nil for nothing
	}{
		{goldenFile, "", nil, nil},
		{processFile, "streamsort.template.json", map[string]any{prefix + "consumersFile": "../../examples/demo/consumers.json"}, nil},
		{demoFile, "../../localstack/streamsort.process.patch.json", map[string]any{prefix + "consumersFile": "../../examples/demo/consumers.json", prefix + "processTimeout": "20s"}, nil},
		{pongFile, "../demo/streamsort.patch.json", map[string]any{prefix + "consumersFile": "../../examples/pingpong/consumers.json", prefix + "processTimeout": "20s"}, nil},
		{soakFile, "../../../examples/demo/streamsort.patch.json", map[string]any{prefix + "consumersFile": "../../verify/robust/soak/consumers.json", prefix + "processTimeout": "20s"}, nil},
		{hooksFile, "../../../examples/demo/streamsort.patch.json", map[string]any{
			prefix + "consumersFile": "../../verify/robust/hooks/consumers.json", prefix + "processTimeout": "20s",
		}, nil},
		{tenantsFile, "../../examples/demo/streamsort.patch.json", map[string]any{
			prefix + "tenantIssuer": "https://tokens.example/pool", prefix + "tenantAudience": "shop", prefix + "tenantClaim": "custom:tenant",
			prefix + "tenantProduceScope": "streamsort/produce", prefix + "tenantOperateScope": "streamsort/operate",
			prefix + "consumersFile": "../../examples/demo/consumers.json", prefix + "processTimeout": "20s",
			prefix + "quotasFile": "../../localstack/testdata/quotas.json",
		}, nil},
		{urlFile, "../streamsort.template.json", map[string]any{prefix + "functionUrl": true}, nil},
		{webhooksFile, "../streamsort.process.patch.json", map[string]any{prefix + "webhooksFile": "../../localstack/testdata/webhooks.json", prefix + "consumersFile": "../../examples/demo/consumers.json"}, nil},
		{sourcesFile, "../streamsort.template.json", nil, addSources},
	} {
		t.Run(golden.file, func(t *testing.T) {
			got := normalise(t, synthesize(t, newApp(t, golden.context), golden.add))
			if golden.file == sourcesFile {
				got = withoutWatching(t, got)
			}
			text := got
			if golden.base != "" {
				text = patchFile(t, golden.file, golden.base, got)
			}
			if *update {
				check.OK(t, os.WriteFile(golden.file, []byte(text), 0o644))
			}
			diffGolden(t, golden.file, got)
			written := check.Get(os.ReadFile(golden.file))
			check.That(t, string(written) == text || t.Failed(),
				"it is the same template in other words; write it anew with: make template")
		})
	}
}

// withoutWatching leaves out the rights and alarms of sources, which the local stack does not run:
// the construct's own tests pin them.
func withoutWatching(t *testing.T, text string) string {
	t.Helper()
	document := decode(t, []byte(text))
	maps.DeleteFunc(document["Resources"].(map[string]any), func(id string, resource any) bool {
		typ := resource.(map[string]any)["Type"]
		return strings.HasPrefix(id, "Source") &&
			(typ == "AWS::IAM::Policy" || typ == "AWS::CloudWatch::Alarm")
	})
	return encode(t, document)
}

// diffGolden compares the template that a file stands for with the one that is written now.
func diffGolden(t *testing.T, file, got string) {
	t.Helper()
	want, err := template.ReadFile(file)
	check.Need(t, err == nil, "%v; write it with: make template", err)
	check.That(t, encode(t, decode(t, want)) == got,
		"the template has changed; if that is meant, write it anew with: make template\n(- %s, + now)\n%s",
		file, cmp.Diff(leaves(decode(t, want)), leaves(decode(t, []byte(got)))))
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var document map[string]any
	check.OK(t, json.Unmarshal(text, &document))
	return document
}

// leaves are a template's values by their paths: a difference of two such maps names the resource
// and the property.
func leaves(document map[string]any) map[string]any {
	all := map[string]any{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, inner := range value {
				walk(path+"."+key, inner)
			}
		case []any:
			for i, inner := range value {
				walk(fmt.Sprintf("%s[%d]", path, i), inner)
			}
		default:
			all[strings.TrimPrefix(path, ".")] = value
		}
	}
	walk("", document)
	return all
}

// versionHash ends the logical id of a function's version, which is recreated with the function.
var versionHash = regexp.MustCompile(`(FunctionCurrentVersion)[0-9A-Za-z]+`)

// normalise gives the functions' code and versions names that do not change with them.
func normalise(t *testing.T, text []byte) string {
	t.Helper()
	document := decode(t, versionHash.ReplaceAll(text, []byte("$1")))
	for id, value := range document["Resources"].(map[string]any) {
		resource := value.(map[string]any)
		if resource["Type"] == "AWS::Lambda::Function" {
			code := resource["Properties"].(map[string]any)["Code"].(map[string]any)
			code["S3Key"] = id + ".zip"
		}
	}
	return encode(t, document)
}

func encode(t *testing.T, value any) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check.OK(t, encoder.Encode(value))
	return out.String()
}

// patchFile is the text of a file that makes the whole template out of its base, whose path is seen
// from the file's folder.
func patchFile(t *testing.T, file, base, whole string) string {
	t.Helper()
	from, err := template.ReadFile(filepath.Join(filepath.Dir(file), base))
	check.Need(t, err == nil, "%v; write it with: make template", err)
	operations := check.Get(jsondiff.CompareJSON(from, []byte(whole), jsondiff.LCS()))
	patch := []any{}
	for _, o := range operations {
		operation := map[string]any{"op": o.Type, "path": o.Path}
		if o.Type != jsondiff.OperationRemove {
			operation["value"] = o.Value
		}
		patch = append(patch, operation)
	}
	return short(t, "", map[string]any{"Base": base, "Patch": patch}) + "\n"
}

// short is a value's JSON, indented where it does not fit in a line of 120.
func short(t *testing.T, indent string, value any) string {
	t.Helper()
	const step = "  "
	var members []string
	brackets := "[]"
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			members = append(members, short(t, indent+step, inner))
		}
	case map[string]any:
		brackets = "{}"
		for _, key := range slices.Sorted(maps.Keys(value)) {
			members = append(members, fmt.Sprintf("%q: %s", key, short(t, indent+step, value[key])))
		}
	default:
		return strings.TrimSuffix(encode(t, value), "\n")
	}
	line := brackets[:1] + strings.Join(members, ", ") + brackets[1:]
	if len(indent+line) <= 120 && !strings.Contains(line, "\n") {
		return line
	}
	return brackets[:1] + "\n" + indent + step + strings.Join(members, ",\n"+indent+step) + "\n" +
		indent + brackets[1:]
}

// addSources adds a source of each kind, as the tests of the local stack have them: those that it
// runs, and those whose events are handed to their functions there. A bucket is not among them,
// whose notifications the CDK sets up by a function of its own; its notifications come by a queue
// here.
func addSources(stack *streamsort.Stack) error {
	scope := stack.Stack
	const account = "account"
	payments := awssqs.NewQueue(scope, jsii.String("Payments"), nil)
	notified := awssqs.NewQueue(scope, jsii.String("Notified"), nil)
	ledger := awssqs.NewQueue(scope, jsii.String("Ledger"),
		&awssqs.QueueProps{Fifo: jsii.Bool(true), ContentBasedDeduplication: jsii.Bool(true)})
	accounts := awsdynamodb.NewTableV2(scope, jsii.String("Accounts"), &awsdynamodb.TablePropsV2{
		TableName: jsii.String("accounts"), PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("id"),
			Type: awsdynamodb.AttributeType_STRING},
		DynamoStream: awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES,
	})
	return errors.Join(
		stack.AddSource("Payments",
			streamsort.Source{Name: "src", From: payments, Queue: account, Seq: "n"}),
		stack.AddSource("Inbox", streamsort.Source{Name: "src", From: notified, Kind: "s3"}),
		stack.AddSource("Ledger", streamsort.Source{Name: "src", From: ledger}),
		stack.AddSource("Changes", streamsort.Source{Name: "src",
			From: awssns.NewTopic(scope, jsii.String("Topic"), nil), Queue: account}),
		stack.AddSource("Orders", streamsort.Source{
			Name: "src", From: awsevents.NewEventBus(scope, jsii.String("Bus"), nil),
			Pattern: &awsevents.EventPattern{Source: jsii.Strings("com.example.orders")},
			Queue:   account, Key: "@time,n", KeyType: "time,number",
		}),
		stack.AddSource("Clicks",
			streamsort.Source{Name: "src", From: awskinesis.NewStream(scope, jsii.String("Clicks"), nil)}),
		stack.AddSource("Accounts", streamsort.Source{Name: "src", From: accounts}),
		stack.AddSource("Trades",
			streamsort.Source{Name: "src",
				From: streamsort.Kafka{BootstrapServers: []string{"b-1.example.com:9096"},
					Topic: "trades", Pollers: 1}}),
	)
}
