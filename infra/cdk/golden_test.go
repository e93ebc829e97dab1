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
)

var update = flag.Bool("update", false, "write the golden template anew")

// The templates that the app writes, save for the functions' asset hashes:
// goldenFile by default, demoFile with the consumers of the demo, soakFile with
// those of the soak, pongFile with that of the game of pingpong, tenantsFile with tenants, webhooksFile with senders that
// sign. The local stack runs them.
const (
	goldenFile = "streamsort.template.json"
	demoFile   = "../../examples/demo/streamsort.template.json"
	soakFile   = "../../soak/streamsort.template.json"
	pongFile   = "../../examples/pingpong/streamsort.template.json"

	tenantsFile  = "../../localstack/testdata/tenants.template.json"
	webhooksFile = "../../localstack/testdata/webhooks.template.json"
)

func TestGolden(t *testing.T) {
	for file, context := range map[string]map[string]any{
		goldenFile: nil,
		demoFile:   {prefix + "consumersFile": "../../examples/demo/consumers.json", prefix + "processTimeout": "20s"},
		pongFile:   {prefix + "consumersFile": "../../examples/pingpong/consumers.json", prefix + "processTimeout": "20s"},
		soakFile:   {prefix + "consumersFile": "../../soak/consumers.json", prefix + "processTimeout": "20s", prefix + "archive": true},
		tenantsFile: {
			prefix + "tenantIssuer": "https://tokens.example/pool", prefix + "tenantAudience": "shop", prefix + "tenantClaim": "custom:tenant",
			prefix + "tenantProduceScope": "streamsort/produce", prefix + "tenantOperateScope": "streamsort/operate",
			prefix + "consumersFile": "../../examples/demo/consumers.json", prefix + "processTimeout": "20s",
		},
		webhooksFile: {prefix + "webhooksFile": "../../localstack/testdata/webhooks.json"},
	} {
		t.Run(file, func(t *testing.T) {
			got := normalise(t, synthesize(t, newApp(t, context)))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			diffGolden(t, file, got)
		})
	}
}

// The template that the CDK command writes is the golden one: nothing is added
// on the way to AWS. It needs no network and no credentials.
func TestCommandSynthesizesGolden(t *testing.T) {
	if *update {
		t.Skip("TestGolden writes the file")
	}
	command, err := filepath.Abs("node_modules/aws-cdk/bin/cdk")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(command); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the CDK command is not installed (npm ci): ", err)
		}
		t.Skip("the CDK command is not installed (npm ci): ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	synth := exec.Command("node", command, "synth", "--quiet", "--app", program, "--output", out,
		"--context", prefix+"binaries="+binaries(t))
	synth.Env = append(withoutAWS(os.Environ()), asApp+"=1", "HOME="+t.TempDir(), "XDG_CACHE_HOME="+cacheDir(t),
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "CDK_DISABLE_CLI_TELEMETRY=true")
	if output, err := synth.CombinedOutput(); err != nil {
		t.Fatalf("cdk synth: %v\n%s", err, output)
	}
	template, err := os.ReadFile(filepath.Join(out, "Streamsort.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	diffGolden(t, goldenFile, normalise(t, template))
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

func diffGolden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err, "; write it with: make template")
	}
	if string(want) != got {
		t.Errorf("the template has changed; if that is meant, write it anew with: make template\n(- %s, + now)\n%s",
			file, cmp.Diff(leaves(decode(t, want)), leaves(decode(t, []byte(got)))))
	}
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var template map[string]any
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	return template
}

// leaves are a template's values by their paths: a difference of two such maps
// names the resource and the property.
func leaves(template map[string]any) map[string]any {
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
	walk("", template)
	return all
}

// versionHash ends the logical id of a function's version, which is made anew with
// the function.
var versionHash = regexp.MustCompile(`(FunctionCurrentVersion)[0-9A-Za-z]+`)

// normalise gives the functions' code and versions names that do not change with
// them.
func normalise(t *testing.T, text []byte) string {
	t.Helper()
	template := decode(t, versionHash.ReplaceAll(text, []byte("$1")))
	for id, value := range template["Resources"].(map[string]any) {
		resource := value.(map[string]any)
		if resource["Type"] == "AWS::Lambda::Function" {
			code := resource["Properties"].(map[string]any)["Code"].(map[string]any)
			code["S3Key"] = id + ".zip"
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(template); err != nil {
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
