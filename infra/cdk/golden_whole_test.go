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
