package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/infra/cdk/streamsort"
	"github.com/streamsort/streamsort/localstack/template"
)

var update = flag.Bool("update", false, "write the golden template and its patches anew")

// The templates that the app writes, save for the functions' asset hashes:
// goldenFile by default, whole; the others are patches of it, or of one another,
// as template.ReadFile reads them. The local stack runs them all.
const (
	goldenFile   = "../../localstack/streamsort.template.json"
	demoFile     = "../../examples/demo/streamsort.patch.json"      // the consumers of the demo
	pongFile     = "../../examples/pingpong/streamsort.patch.json"  // that of the game of pingpong
	languageFile = "../../examples/languages/streamsort.patch.json" // those in Python and Node
	soakFile     = "../../verify/soak/streamsort.patch.json"        // those of the soak
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
		{demoFile, "../../localstack/streamsort.template.json", map[string]any{prefix + "consumersFile": "../../examples/demo/consumers.json", prefix + "processTimeout": "20s"}, nil},
		{pongFile, "../demo/streamsort.patch.json", map[string]any{prefix + "consumersFile": "../../examples/pingpong/consumers.json", prefix + "processTimeout": "20s"}, nil},
		{languageFile, "../demo/streamsort.patch.json", map[string]any{prefix + "consumersFile": "../../examples/languages/consumers.json", prefix + "processTimeout": "20s"}, nil},
		{soakFile, "../../examples/demo/streamsort.patch.json", map[string]any{prefix + "consumersFile": "../../verify/soak/consumers.json", prefix + "processTimeout": "20s", prefix + "archive": true}, nil},
		{tenantsFile, "../../examples/demo/streamsort.patch.json", map[string]any{
			prefix + "tenantIssuer": "https://tokens.example/pool", prefix + "tenantAudience": "shop", prefix + "tenantClaim": "custom:tenant",
			prefix + "tenantProduceScope": "streamsort/produce", prefix + "tenantOperateScope": "streamsort/operate",
			prefix + "consumersFile": "../../examples/demo/consumers.json", prefix + "processTimeout": "20s",
			prefix + "quotasFile": "../../localstack/testdata/quotas.json",
		}, nil},
		{urlFile, "../streamsort.template.json", map[string]any{prefix + "functionUrl": true}, nil},
		{webhooksFile, "../streamsort.template.json", map[string]any{prefix + "webhooksFile": "../../localstack/testdata/webhooks.json"}, nil},
		{sourcesFile, "../streamsort.template.json", nil, addSources},
	} {
		t.Run(golden.file, func(t *testing.T) {
			got := normalise(t, synthesize(t, newApp(t, golden.context), golden.add))
			text := got
			if golden.base != "" {
				text = patchFile(t, golden.file, golden.base, got)
			}
			if *update {
				if err := os.WriteFile(golden.file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			diffGolden(t, golden.file, got)
			written, err := os.ReadFile(golden.file)
			if err != nil {
				t.Fatal(err)
			}
			if string(written) != text && !t.Failed() {
				t.Error("it is the same template in other words; write it anew with: make template")
			}
		})
	}
}

// The template that the CDK command writes is the golden one: nothing is added
// on the way to AWS. It needs no network and no credentials.
func TestCommandSynthesizesGolden(t *testing.T) {
	command, err := filepath.Abs("node_modules/aws-cdk/bin/cdk")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(command); err != nil {
		t.Fatal("the CDK command is not installed (npm ci): ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	synth := exec.Command("node", command, "synth", "--quiet", "--app", program, "--output", out,
		"--context", prefix+"binaries="+binaries(t))
	synth.Env = append(withoutAWS(os.Environ()), asApp+"=1", "HOME="+t.TempDir(), "XDG_CACHE_HOME="+cacheDir(t),
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "CDK_DISABLE_CLI_TELEMETRY=true", "CDK_VALIDATION=true")
	if output, err := synth.CombinedOutput(); err != nil {
		t.Fatalf("cdk synth: %v\n%s", err, output)
	}
	text, err := os.ReadFile(filepath.Join(out, "Streamsort.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	diffGolden(t, goldenFile, normalise(t, text))
	checkNoFindings(t, filepath.Join(out, "validation-report.json"))
}

// checkNoFindings reads the report of CloudFormation's rules, which the CDK
// checks while it synthesises.
func checkNoFindings(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ PluginReports []json.RawMessage }
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	for _, finding := range report.PluginReports {
		t.Errorf("finding: %s", finding)
	}
}

// diffGolden compares the template that a file stands for with the one that is
// written now.
func diffGolden(t *testing.T, file, got string) {
	t.Helper()
	want, err := template.ReadFile(file)
	if err != nil {
		t.Fatal(err, "; write it with: make template")
	}
	if encode(t, decode(t, want)) != got {
		t.Errorf("the template has changed; if that is meant, write it anew with: make template\n(- %s, + now)\n%s",
			file, cmp.Diff(leaves(decode(t, want)), leaves(decode(t, []byte(got)))))
	}
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// leaves are a template's values by their paths: a difference of two such maps
// names the resource and the property.
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

// versionHash ends the logical id of a function's version, which is made anew with
// the function.
var versionHash = regexp.MustCompile(`(FunctionCurrentVersion)[0-9A-Za-z]+`)

// normalise gives the functions' code and versions names that do not change with
// them.
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
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func withoutAWS(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		if !strings.HasPrefix(variable, "AWS_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// cacheDir is where the CDK's library is unpacked to, once a machine.
func cacheDir(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
