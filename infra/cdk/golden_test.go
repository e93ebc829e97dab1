package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if encode(t, decode(t, want)) != got {
		t.Errorf("the template has changed; if that is meant, write it anew with: make template\n(- %s, + now)\n%s",
			file, cmp.Diff(leaves(decode(t, want)), leaves(decode(t, []byte(got)))))
	}
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
