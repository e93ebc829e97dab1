//go:build whole

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The template that the CDK command writes is the golden one: nothing is added on the way to AWS.
// It needs no network and no credentials.
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

// checkNoFindings reads the report of CloudFormation's rules, which the CDK checks while it
// synthesises.
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
