package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
		app := newApp(t, context)
		if _, err := addStack(app); err != nil {
			return nil, err
		}
		return os.ReadFile(filepath.Join(*app.Synth(nil).Directory(), properties["stack"]+".template.json"))
	}
}

// The parameters' bounds and defaults are those of the stack's properties.
func TestParametersAreTheStacks(t *testing.T) {
	synthesize := synthesizer(t)
	values := func(least bool) map[string]string {
		properties := map[string]string{"stack": "Streamsort"}
		for _, p := range cloudformation.Parameters() {
			if _, number := p.Default.(int); number && p.Allowed == nil {
				properties[p.Prop] = p.Property(p.Max)
				if least {
					properties[p.Prop] = p.Property(p.Min)
				}
			}
		}
		return properties
	}
	for _, least := range []bool{true, false} {
		if _, err := synthesize(values(least)); err != nil {
			t.Errorf("at their bounds (least: %v): %v", least, err)
		}
	}
	defaults := map[string]string{"stack": "Streamsort"}
	for _, p := range cloudformation.Parameters() {
		if p.Prop == "architecture" || p.Default == nil || p.Default == "" || strings.HasPrefix(p.Prop, "artifact") {
			continue
		}
		defaults[p.Prop] = p.Property(p.Default)
		if p.Prop == "logSuccesses" {
			continue // 100 keeps Lambda's own lines too, which a file cannot switch
		}
		for _, beyond := range []int{p.Min - 1, p.Max + 1} {
			if p.Min == p.Max || beyond == 0 || p.Prop == "firstSeq" && beyond > 0 {
				continue // not a number; the property's default; a file's numbers end where those of JSON do
			}
			if _, err := synthesize(map[string]string{"stack": "Streamsort", p.Prop: p.Property(beyond)}); err == nil {
				t.Errorf("%s: the stack takes %s, and its parameter does not", p.Prop, p.Property(beyond))
			}
		}
		if p.Allowed == nil {
			continue
		}
		// What the property takes stands in the error of what it does not.
		_, err := synthesize(map[string]string{"stack": "Streamsort", p.Prop: "2"})
		if allowed := strings.Trim(fmt.Sprint(p.Allowed), "[]"); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ",", ""), allowed) && allowed != "true false" {
			t.Errorf("%s: the parameter takes %s; the stack says %v", p.Prop, allowed, err)
		}
	}
	got, err := synthesize(defaults)
	if err != nil {
		t.Fatal(err)
	}
	diffGolden(t, goldenFile, normalise(t, got))
}

// docs/deploy.md has every parameter.
func TestDocsNameParameters(t *testing.T) {
	text, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range cloudformation.Parameters() {
		if !strings.Contains(string(text), "`"+p.Name()+"`") {
			t.Errorf("docs/deploy.md does not name %s", p.Name())
		}
	}
}
