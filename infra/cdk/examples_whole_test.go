//go:build whole

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The TypeScript example keeps to the CDK's types, synthesises, and its nested stack has only
// parameters that the release's template has.
func TestTypeScriptExample(t *testing.T) {
	modules, err := filepath.Abs("nag/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	source, err := os.ReadFile("../../examples/cdk-typescript/stack.ts")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "stack.ts"), source, 0o600)
	}
	if err == nil {
		err = os.Symlink(modules, filepath.Join(folder, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "node", arguments...)
		command.Dir = folder
		command.Env = append(withoutAWS(os.Environ()), "CDK_OUTDIR="+filepath.Join(folder, "cdk.out"), `CDK_CONTEXT_JSON={"artifactBucket":"artifacts","version":"1.2.3"}`)
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, said)
		}
	}
	run("node_modules/typescript/bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs", "--types", "node", "--outDir", "out", "stack.ts")
	run("out/stack.js")
	text, err := os.ReadFile(filepath.Join(folder, "cdk.out", "Orders.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct{ Parameters map[string]any }
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	nested := template.Resources["Streamsort"]
	if nested.Type != "AWS::CloudFormation::Stack" || len(nested.Properties.Parameters) == 0 {
		t.Errorf("%s has no nested stack with parameters", text)
	}
	checkParameters(t, nested.Properties.Parameters)
}
