//go:build whole

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/pyenv"
	"github.com/streamsort/streamsort/localstack/template"
)

// The template that the CDK command writes is the golden one: nothing is added on the way to AWS.
// It needs no network and no credentials.
func TestCommandSynthesizesGolden(t *testing.T) {
	command := check.Get(filepath.Abs("node_modules/aws-cdk/bin/cdk"))
	_, err := os.Stat(command)
	check.Need(t, err == nil, "the CDK command is not installed (npm ci): %v", err)
	program := check.Get(os.Executable())
	out := t.TempDir()
	synth := exec.Command("node", command, "synth", "--quiet", "--app", program, "--output", out,
		"--context", prefix+"binaries="+binaries(t))
	synth.Env = append(withoutAWS(os.Environ()), asApp+"=1", "HOME="+t.TempDir(),
		"XDG_CACHE_HOME="+check.Get(os.UserCacheDir()),
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1",
		"CDK_DISABLE_CLI_TELEMETRY=true", "CDK_VALIDATION=true")
	output, err := synth.CombinedOutput()
	check.Need(t, err == nil, "cdk synth: %v\n%s", err, output)
	text := check.Get(os.ReadFile(filepath.Join(out, "Streamsort.template.json")))
	diffGolden(t, goldenFile, normalise(t, text))
	// CloudFormation's rules, which the CDK checks while it synthesises, find nothing.
	var report struct{ PluginReports []json.RawMessage }
	found := check.Get(os.ReadFile(filepath.Join(out, "validation-report.json")))
	check.OK(t, json.Unmarshal(found, &report))
	check.That(t, len(report.PluginReports) == 0, "findings: %s", found)
}

func withoutAWS(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		return strings.HasPrefix(variable, "AWS_")
	})
}

// cfn-lint, AWS's linter for templates, finds nothing in any template of the project: neither
// errors nor warnings. It is installed by testdata/cfn-lint.txt.
func TestTemplatesLint(t *testing.T) {
	requirements := check.Get(os.ReadFile("testdata/cfn-lint.txt"))
	python := check.Get(pyenv.Python(t.Context(), "cfn-lint", requirements))
	options := t.TempDir() + "/options.json"
	check.OK(t, os.WriteFile(options, synthesize(t, newApp(t, map[string]any{
		prefix + "encryptionKey": "new", prefix + "shift": "Canary10Percent5Minutes",
		prefix + "announceTopic": "arn:aws:sns:us-east-1:123456789012:people", prefix + "pageTopic": "arn:aws:sns:us-east-1:123456789012:pager",
		prefix + "vpcSubnets": "subnet-1a2b3c4d", prefix + "vpcSecurityGroups": "sg-1a2b3c4d",
		prefix + "tenantIssuer": "https://tokens.example/pool", prefix + "tenantAudience": "shop", prefix + "tenantClaim": "tenant",
		prefix + "consumersFile": "../../verify/robust/soak/consumers.json",
	}), addSources), 0o644))
	release := t.TempDir() + "/release.json"
	check.OK(t, os.WriteFile(release, []byte(released(t)), 0o644))
	// A linter that finds nothing anywhere would find nothing here either.
	broken := t.TempDir() + "/broken.json"
	text := `{"Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"NoSuchProperty":1}}}}`
	check.OK(t, os.WriteFile(broken, []byte(text), 0o644))
	lint := exec.CommandContext(
		t.Context(), python, "-c", "from cfnlint.runner import main; main()", "--format", "parseable",
		// W3005, a DependsOn that a reference makes needless: the CDK writes one for each
		// function's role.
		"--ignore-checks", "W3005", "--regions", "us-east-1", "--",
		broken, options, release,
		goldenFile, patched(t, demoFile), patched(t, soakFile), patched(t, hooksFile),
		patched(t, tenantsFile), patched(t, webhooksFile),
		"../../examples/webhooks/template.json", "../../examples/receiver/receiver.template.json",
		"../../examples/payments/payments.template.json",
		"../../examples/wordcount/wordcount.template.json",
		"../../verify/robust/deploy/doors.template.json",
		"../../examples/languages/languages.template.json",
	)
	lint.Stderr = t.Output()
	said, err := lint.Output()
	found := strings.Split(strings.TrimSpace(string(said)), "\n")
	check.That(t, len(found) == 1 && strings.HasPrefix(found[0], broken+":") &&
		strings.Contains(found[0], "NoSuchProperty"),
		"cfn-lint: %v\n%s\nwant NoSuchProperty in %s, and nothing else", err, said, broken)
}

// patched writes the template that a patch makes to a file, and returns its path.
func patched(t *testing.T, patch string) string {
	t.Helper()
	text := check.Get(template.ReadFile(patch))
	// Its path is in what the linter says.
	path := filepath.Join(t.TempDir(), strings.ReplaceAll(strings.TrimLeft(patch, "./"), "/", "-"))
	check.OK(t, os.WriteFile(path, text, 0o644))
	return path
}

// The TypeScript example keeps to the CDK's types, synthesises, and its nested stack has only
// parameters that the release's template has.
func TestTypeScriptExample(t *testing.T) {
	modules := check.Get(filepath.Abs("nag/node_modules"))
	folder := t.TempDir()
	source := check.Get(os.ReadFile("../../examples/cdk-typescript/stack.ts"))
	check.OK(t, os.WriteFile(filepath.Join(folder, "stack.ts"), source, 0o600))
	check.OK(t, os.Symlink(modules, filepath.Join(folder, "node_modules")))
	run := func(arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "node", arguments...)
		command.Dir = folder
		command.Env = append(withoutAWS(os.Environ()), "CDK_OUTDIR="+filepath.Join(folder, "cdk.out"),
			`CDK_CONTEXT_JSON={"artifactBucket":"artifacts","version":"1.2.3"}`)
		said, err := command.CombinedOutput()
		check.Need(t, err == nil, "%v: %v\n%s", arguments, err, said)
	}
	run("node_modules/typescript/bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "commonjs", "--types", "node", "--outDir", "out", "stack.ts")
	run("out/stack.js")
	text := check.Get(os.ReadFile(filepath.Join(folder, "cdk.out", "Orders.template.json")))
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct{ Parameters map[string]any }
		}
	}
	check.OK(t, json.Unmarshal(text, &template))
	nested := template.Resources["Streamsort"]
	check.Is(t, nested.Type, "AWS::CloudFormation::Stack", string(text))
	checkParameters(t, nested.Properties.Parameters)
}
