package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/infra/cdk/internal/cloudformation"
	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// releasedFile is the stack as one template for CloudFormation: what a release has.
const releasedFile = "../cloudformation/streamsort.template.json"

// The template of a release is what the stack's code makes now.
func TestGoldenReleased(t *testing.T) {
	got, err := cloudformation.Build(synthesizer(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(releasedFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(releasedFile)
	if err != nil {
		t.Fatal(err, "; write it with: make template")
	}
	if string(want) != string(got) {
		t.Errorf("the template has changed; if that is meant, write it anew with: make template\n(- %s, + now)\n%s",
			releasedFile, cmp.Diff(leaves(decode(t, want)), leaves(decode(t, got))))
	}
}

// synthesizer synthesises stacks of any properties.
func synthesizer(t *testing.T) cloudformation.Synthesize {
	t.Helper()
	amd64 := t.TempDir()
	if err := fakebin.Write(amd64, "amd64"); err != nil {
		t.Fatal(err)
	}
	return func(properties map[string]string) ([]byte, error) {
		context := map[string]any{}
		for name, value := range properties {
			context[prefix+name] = value
		}
		if properties["architecture"] == "amd64" {
			context[prefix+"binaries"] = amd64
		}
		// The templates that are put together are no stack's: the one that is made of them is checked.
		context["@aws-cdk/core:validateAgainstDefaultRules"] = false
		app := newApp(t, context)
		if err := addStack(app); err != nil {
			return nil, err
		}
		return os.ReadFile(filepath.Join(*app.Synth(nil).Directory(), properties["stack"]+".template.json"))
	}
}
