//go:build whole

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

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
